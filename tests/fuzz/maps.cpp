#include "src/observe/proc/maps.h"

#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  using namespace hwprof::observe;
  const auto lines = parse_maps(text);
  must(mapped_code(1, text).size() <= lines.size());
  must(executable_files(text).size() <= lines.size());
}
