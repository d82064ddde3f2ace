// What the kernel and the command line say, and what is written of any text.
#include <nlohmann/json.hpp>

#include "counters/machine/affinity.h"
#include "counters/machine/cpuinfo.h"
#include "src/base/json_text.h"
#include "src/commands/profile/shape.h"
#include "src/report/printable.h"
#include "tests/fuzz/fuzz.h"

namespace {

bool is_plain(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = hwprof::utf8_length(text);
    if (length == 0 || static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7f) return false;
    if (length == 2 && text.starts_with('\xc2') && static_cast<unsigned char>(text[1]) < 0xa0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

void fuzz(std::string_view text) {
  using namespace hwprof;
  parse_cpu_list(text);
  parse_cpuinfo(text, 0);
  parse_shape(text);
  must(is_plain(report::printable(text)));
  must(nlohmann::json::parse(quoted(text), nullptr, false).is_string());
}
