#include "src/observe/samples/width.h"

namespace hwprof::observe {

std::string_view to_text(LoopWidth width) {
  switch (width) {
    case LoopWidth::kScalar:
      return "scalar";
    case LoopWidth::k128:
      return "128";
    case LoopWidth::k256:
      return "256";
    case LoopWidth::k512:
      return "512";
    case LoopWidth::kNoArithmetic:
      return "no-arithmetic";
    case LoopWidth::kNoLoop:
      return "no-loop";
    case LoopWidth::kUnclassified:
      break;
  }
  return "unclassified";
}

bool is_arithmetic(LoopWidth width) {
  return width == LoopWidth::kScalar || width == LoopWidth::k128 || width == LoopWidth::k256 ||
         width == LoopWidth::k512;
}

LoopClass classify_loop(std::span<const std::byte> code, std::uint64_t code_address,
                        std::uint64_t sampled_ip) {
#if defined(__x86_64__)
  return classify_loop_x86(code, code_address, sampled_ip);
#elif defined(__aarch64__)
  return classify_loop_a64(code, code_address, sampled_ip);
#else
  static_cast<void>(code), static_cast<void>(code_address), static_cast<void>(sampled_ip);
  return {};
#endif
}

}  // namespace hwprof::observe
