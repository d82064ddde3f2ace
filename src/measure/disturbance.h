// What took the CPU from measured work, as the kernel tells it: time in which threads were ready to
// run and did not (/proc/self/task/*/schedstat), and time that the hypervisor gave to others
// (steal, in /proc/stat).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/base/unique_fd.h"

namespace hwprof {

// Of all threads that the process has at the time of refresh().
class RunDelays {
 public:
  void refresh();
  // The sum of their waits; absent where a kernel does not tell (CONFIG_SCHED_INFO).
  [[nodiscard]] std::optional<double> ns() const;

 private:
  std::vector<UniqueFd> threads_;
};

// Ticks (1/100 s) that the host gave to others since boot, of all of `cpus` together, from the text
// of /proc/stat. Absent where it has none of them.
std::optional<std::uint64_t> stolen_ticks(const std::string& proc_stat, const CpuList& cpus);

// Ticks (1/100 s) in which they were not idle since boot, whoever had them; what the host gave to
// others counts as work of others.
std::optional<std::uint64_t> busy_ticks(const std::string& proc_stat, const CpuList& cpus);

inline constexpr double kTicksPerSecond = 100;  // USER_HZ, of all that Linux runs on here

// Ticks in which CPUs were not idle since it was made.
class BusyCpus {
 public:
  explicit BusyCpus(CpuList cpus);
  // Absent where the kernel does not tell, or has counted back.
  [[nodiscard]] std::optional<std::uint64_t> ticks() const;

 private:
  [[nodiscard]] std::optional<std::uint64_t> now() const;

  CpuList cpus_;
  std::optional<std::uint64_t> begin_;
};

// Those stolen, read from the kernel each time: some 20 us, and more with many CPUs.
class Steal {
 public:
  explicit Steal(CpuList cpus);
  [[nodiscard]] std::optional<std::uint64_t> ticks() const;

 private:
  CpuList cpus_;
  UniqueFd file_;
};

}  // namespace hwprof
