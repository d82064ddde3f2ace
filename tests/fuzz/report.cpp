#include "src/commands/compare/comparable.h"
#include "src/commands/report/bench_file.h"
#include "src/commands/report/saved.h"
#include "src/model/from_json.h"
#include "tests/fuzz/json_mutator.h"

void fuzz(std::string_view text) {
  using namespace hwprof;
  const std::string bytes(text);
  parse_comparable("true", bytes);
  if (const auto file = parse_report("report", bytes, saved_schemas()))
    if (const auto page = saved_page(*file)) report::as_html({&*page, 1});
  if (!model::check_json(bytes)) return;
  const auto json = nlohmann::ordered_json::parse(bytes, nullptr, false);
  if (is_benchmark(json)) read_bench("bench", json);
}
