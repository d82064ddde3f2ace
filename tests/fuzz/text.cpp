// What the kernel and the command line say, and what is written of any text.
#include <nlohmann/json.hpp>

#include "counters/machine/affinity.h"
#include "counters/machine/cpuinfo.h"
#include "src/base/json_text.h"
#include "src/commands/profile/shape.h"
#include "src/report/printable.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  using namespace hwprof;
  parse_cpu_list(text);
  parse_cpuinfo(text, 0);
  parse_shape(text);
  must(is_plain(report::printable(text)));
  must(nlohmann::json::parse(quoted(text), nullptr, false).is_string());
}
