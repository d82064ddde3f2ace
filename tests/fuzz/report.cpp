#include "src/commands/compare/comparable.h"
#include "src/commands/report/saved.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  using namespace hwprof;
  const std::string bytes(text);
  parse_comparable("true", bytes);
  const auto file = parse_report("report", bytes, saved_schemas());
  if (!file) return;
  if (const auto page = saved_page(*file)) report::as_html({&*page, 1});
}
