#include "src/observe/samples/wait.h"

namespace hwprof::observe {

LoopJudgement judge_loop(std::span<const std::byte> code, std::uint64_t code_address,
                         std::uint64_t sampled_ip, const YieldCalls& yields, Waiter waiter) {
#if defined(__x86_64__)
  return judge_loop_x86(code, code_address, sampled_ip, yields, waiter);
#else
  static_cast<void>(yields), static_cast<void>(waiter);
  return {classify_loop(code, code_address, sampled_ip), Wait::kNone};
#endif
}

bool begins_yield(std::span<const std::byte> code, std::uint64_t code_address,
                  const std::function<bool(std::uint64_t)>& is_slot) {
#if defined(__x86_64__)
  return begins_yield_x86(code, code_address, is_slot);
#else
  static_cast<void>(code), static_cast<void>(code_address), static_cast<void>(is_slot);
  return false;
#endif
}

const char* why_waits_are_not_known() {
#if defined(__x86_64__)
  return "";
#else
  return "loops that wait are only known in x86-64 code";
#endif
}

}  // namespace hwprof::observe
