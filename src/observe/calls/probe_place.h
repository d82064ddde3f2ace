// At which instructions the kernel sets no uprobe. It finds that out when a process maps the file,
// and tells nobody then. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hwprof::observe {

inline constexpr std::size_t kProbedBytes = 15;  // an instruction has no more

// As arch/x86/kernel/uprobes.c of Linux 6.x has it (is_prefix_bad(), good_insns_64): the opcode of
// an AVX instruction is looked up among those of one byte, where it means something else.
constexpr bool x86_takes_probe(std::span<const std::uint8_t> code) {
  constexpr std::array<std::uint8_t, 5> kBadPrefixes = {0x26, 0x2e, 0x36, 0x3e, 0xf0};
  constexpr std::array<std::uint8_t, 6> kOtherPrefixes = {0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
  constexpr std::array<std::uint8_t, 40> kBadOpcodes = {
      0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x62,
      0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4,
      0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb};
  const auto holds = [](const auto& bytes, std::uint8_t byte) {
    return std::find(bytes.begin(), bytes.end(), byte) != bytes.end();
  };
  std::size_t at = 0;
  for (; at < code.size() && !holds(kBadPrefixes, code[at]) && holds(kOtherPrefixes, code[at]);)
    ++at;
  if (at < code.size() && code[at] >= 0x40 && code[at] <= 0x4f) ++at;  // REX
  if (at >= code.size() || holds(kBadPrefixes, code[at])) return false;
  switch (code[at]) {  // VEX of two bytes and of three, EVEX
    case 0xc5:
      at += 2;
      break;
    case 0xc4:
      at += 3;
      break;
    case 0x62:
      at += 4;
      break;
    default:
      break;
  }
  return at < code.size() && !holds(kBadOpcodes, code[at]);
}

// Whether a function's code may have jumps out of it: any byte may be the first of one, so that
// there may be none of those that are told. `begin`, `end`: of the file's code, counted from its
// own.
struct JumpsInCode {
  bool direct = false, by_table = false;
};
constexpr JumpsInCode x86_jumps(std::span<const std::uint8_t> code, std::int64_t begin,
                                std::int64_t end) {
  JumpsInCode found;
  const auto size = static_cast<std::int64_t>(code.size());
  const auto leaves = [&](std::int64_t to) {
    return to >= begin && to < end && (to <= 0 || to >= size);
  };
  for (std::size_t at = 0; at + 1 < code.size(); ++at) {
    const std::uint8_t first = code[at], second = code[at + 1];
    const auto here = static_cast<std::int64_t>(at);
    if (first == 0xff && (second & 0x38U) == 0x20U) {
      (second == 0x25 ? found.direct : found.by_table) = true;  // 0x25: of a slot in the file
    }
    const bool is_short = first == 0xeb || (first >= 0x70 && first <= 0x7f);
    if (is_short && leaves(here + 2 + static_cast<std::int8_t>(second))) found.direct = true;
    const std::size_t operand = first == 0xe9                                       ? at + 1
                                : first == 0x0f && second >= 0x80 && second <= 0x8f ? at + 2
                                                                                    : 0;
    if (operand == 0 || operand + 4 > code.size()) continue;
    std::uint32_t distance = 0;
    for (std::size_t i = 4; i-- > 0;) distance = distance << 8U | code[operand + i];
    if (leaves(static_cast<std::int64_t>(operand) + 4 + static_cast<std::int32_t>(distance)))
      found.direct = true;
  }
  return found;
}

}  // namespace hwprof::observe
