#include "src/observe/samples/generated_code.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  const auto map = hwprof::observe::JitMap::parse(text);
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x1000}, ~std::uint64_t{0}})
    must(map.symbol(address).size() <= text.size());
}
