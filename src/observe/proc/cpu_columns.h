// The lines of /proc/stat that tell of one CPU each (proc_stat(5)): "cpu0 user nice system idle
// iowait irq softirq steal ...", ticks since boot; guests are in user. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "src/base/text.h"

namespace hwprof::observe {

// Places in a line's words; the first is the CPU's name.
inline constexpr std::size_t kIdle = 4, kIoWait = 5, kSoftIrq = 7, kSteal = 8;

// `use(cpu, words)`, not for the line with the sum of all.
template <class Use>
void each_cpu(std::string_view proc_stat, Use use) {
  for (const std::string_view line : split(proc_stat, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    if (!words.front().starts_with("cpu")) continue;
    if (const auto cpu = parse_unsigned(words.front().substr(3)))
      use(static_cast<unsigned>(*cpu), words);
  }
}

}  // namespace hwprof::observe
