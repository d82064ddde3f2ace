// What a record of a host has besides its BLAS: names, boots, and how busy it was.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "counters/machine/affinity.h"
#include "src/base/result.h"
#include "src/measure/disturbance.h"
#include "src/model/check_record.h"

namespace hwprof {

// Of runs and hosts, which become names of files: letters, digits, '.', '_' and '-', the first a
// letter or digit, 64 and 253 of them at most.
inline constexpr std::size_t kLongestHost = 253;  // RFC 1035
Result<std::string> run_id_in(std::string_view option, std::string_view text);
Result<std::string> host_in(std::string_view option, std::string_view text);
// In a job of Slurm as that calls the node, else as the machine calls itself.
Result<std::string> this_host();

// The file of a record in its folder. Another run leaves it alone.
std::string record_name(const std::string& host, const std::string& run_id);

// boot_id, microcode, cpu_id, or why they are absent; `cpu` is one that is used.
void add_host_facts(unsigned cpu, report::Check& check);

// From its construction on: CPU time that others had on `cpus`, of all there was.
class OthersOnCpus {
 public:
  explicit OthersOnCpus(CpuList cpus);
  [[nodiscard]] std::optional<double> fraction() const;

 private:
  std::size_t cpus_;
  double begin_ns_;
  double own_s_;
  BusyCpus busy_;
};

// Pure: ticks of 1/100 s, of `cpus` CPUs in `elapsed_s`, less our own CPU time. Absent where they
// are too few to tell.
std::optional<double> fraction_of_others(std::uint64_t busy_ticks, double own_s, double elapsed_s,
                                         std::size_t cpus);

}  // namespace hwprof
