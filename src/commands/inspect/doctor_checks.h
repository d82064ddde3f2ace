// What the doctor looks at, and its judgements: facts in, findings out. Pure but for
// gather_facts(), so that tests can feed machines that nobody here owns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/machine.h"
#include "counters/machine/affinity.h"
#include "counters/perf/reading.h"
#include "src/base/result.h"
#include "src/blas/providers/choice.h"
#include "src/model/record.h"
#include "src/report/documents/inspect.h"

namespace hwprof {

// What the doctor looks at, as plain data: the checks judge it, tests make machines up. Absent
// means that it cannot be seen from here.

// Ticks since boot, of /proc/stat.
struct CpuTicks {
  std::uint64_t busy = 0, idle = 0, steal = 0;
};
std::map<unsigned, CpuTicks> parse_cpu_ticks(std::string_view stat);

// Shares of a stretch of time in which hwprof itself slept.
struct CpuUse {
  double busy = 0;   // by other programs
  double steal = 0;  // taken by the host
};
// CPUs that are in both; those that did not tick are left out.
std::map<unsigned, CpuUse> cpu_use(const std::map<unsigned, CpuTicks>& before,
                                   const std::map<unsigned, CpuTicks>& after);

struct DoctorFacts {
  Machine machine;
  CpuList cpus;    // judged: those that this process may use
  CpuList online;  // of the machine; empty: not visible

  bool root = false;
  bool cap_perfmon = false;            // CAP_PERFMON or CAP_SYS_ADMIN in the effective set
  std::optional<int> seccomp;          // /proc/self/status: 0 none, 1 strict, 2 filter
  std::string container;               // "docker", ...; empty: no sign of one
  std::vector<EventCount> tried;       // kTriedEvents, each really run
  std::optional<int> userspace_reads;  // x86: rdpmc of the PMU; arm64: kernel.perf_user_access
  std::string libpfm;                  // "libpfm4 4.13"
  bool libpfm_knows = false;           // the PMU of this CPU
  std::string core;                    // "AMD Zen 5" of the own table; empty: not in it
  std::vector<std::string> governors;  // distinct, of `cpus`; empty: not visible
  std::string frequency_driver;        // "intel_pstate"
  std::optional<bool> turbo;
  std::map<unsigned, CpuUse> use;        // by CPU, siblings included
  std::map<unsigned, CpuList> siblings;  // of each of `cpus`: other threads of its core
  std::uint64_t descriptors = 0, most_descriptors = 0;  // RLIMIT_NOFILE, soft and hard

  std::map<std::string, std::string> environment;  // variables that shape a BLAS
  std::optional<blas::Identity> blas;              // what programs get; absent: blas_error
  std::string blas_error;
  report::ProfileBlas judged;  // the same, measured against what else could be had
};

inline constexpr const char* kTriedEvents[] = {"task-clock", "context-switches", "cycles",
                                               "instructions", "branches"};

// Takes about a third of a second, most of it asleep, and one more where the BLAS is to be
// measured. Leaves the affinity as it was.
Result<DoctorFacts> gather_facts(bool measure_blas);

// All thresholds in one place.
struct DoctorThresholds {
  double busy = 0.10;  // share of a CPU taken by others: more is too much
  double steal_note = 0.005;
  double steal_mend = 0.02;
  unsigned few_counters = 4;
  std::uint64_t descriptors_a_thread = 24;  // a counter each, two groups a pass
  std::uint64_t descriptors_besides = 128;
};
inline constexpr DoctorThresholds kDoctorThresholds;

// One finding a check, in the order of the table.
std::vector<report::Finding> examine(const DoctorFacts& facts);

}  // namespace hwprof
