#include "src/observe/samples/width.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  using namespace hwprof::observe;
  constexpr std::uint64_t kAddress = 0x401000;
  for (const std::size_t at : {std::size_t{0}, text.size() / 2, text.size()}) {
    classify_loop_a64(bytes_of(text), kAddress, kAddress + at);
#if defined(__x86_64__)
    classify_loop_x86(bytes_of(text), kAddress, kAddress + at);
#endif
  }
}
