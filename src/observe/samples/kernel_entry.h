// How a program came into the kernel, by the instruction that stands before the one to which it
// will return: behind a system call that is the call itself, at a page fault the one before the
// instruction that faulted. Pure: bytes in, class out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace hwprof::observe {

// Of the longest instruction that calls the kernel.
#ifdef __x86_64__
inline constexpr std::size_t kSystemCallBytes = 2;
#else
inline constexpr std::size_t kSystemCallBytes = 4;
#endif

// syscall, sysenter, int 0x80 (Intel SDM, volume 2).
inline bool is_system_call_x86(std::span<const std::byte, 2> instruction) {
  constexpr std::array<std::array<unsigned char, 2>, 3> kCalls = {
      {{0x0f, 0x05}, {0x0f, 0x34}, {0xcd, 0x80}}};
  return std::any_of(kCalls.begin(), kCalls.end(), [&](const auto& call) {
    return std::to_integer<unsigned char>(instruction[0]) == call[0] &&
           std::to_integer<unsigned char>(instruction[1]) == call[1];
  });
}

// svc with any number (Arm ARM, C6.2): 1101 0100 000i iiii iiii iiii iii0 0001, little-endian.
inline bool is_system_call_a64(std::span<const std::byte, 4> instruction) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned char>(instruction[i]); };
  return at(3) == 0xd4 && (at(2) & 0xe0U) == 0 && (at(0) & 0x1fU) == 1;
}

// The last bytes of `before` are a system call of this kind of machine.
inline bool ends_in_system_call(std::span<const std::byte> before) {
  if (before.size() < kSystemCallBytes) return false;
  const auto last = before.last<kSystemCallBytes>();
#ifdef __x86_64__
  return is_system_call_x86(last);
#else
  return is_system_call_a64(last);
#endif
}

}  // namespace hwprof::observe
