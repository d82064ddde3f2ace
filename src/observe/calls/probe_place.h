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

}  // namespace hwprof::observe
