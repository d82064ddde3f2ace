// What `hwprof node` saw: each running process of a machine that has a BLAS mapped, and what the
// judge says of it without having stopped, probed or sampled it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/model/machine.h"
#include "src/model/record.h"

namespace hwprof::model {

// A BLAS that a process has mapped, with the verdict on it.
struct NodeLibrary : report::Verdict {
  std::string reason;       // why there is no core
  bool elsewhere = false;   // in another mount namespace: its path is no file here, or another
  bool deleted = false;     // no longer at its path, as after an upgrade
  bool unreadable = false;  // for `reason`: it is known by its name alone
};

// Over what time a process's CPU time was divided.
enum class CpuOver { kLife, kInterval };

template <>
struct EnumNames<CpuOver> {
  static constexpr EnumName<CpuOver> kAll[] = {
      {CpuOver::kLife, "life", "since the process began"},
      {CpuOver::kInterval, "interval", "since the last look of `--watch`"},
  };
};

struct NodeProcess {
  std::int64_t pid = 0;
  std::uint64_t uid = 0;  // effective
  std::string user;       // its name; the number where it has none
  std::string program;    // as `ps -o comm`
  std::string job;        // "slurm 123.0", "session-3.scope"; "" when it is in none
  std::string job_from;   // "cgroup", "environment"
  std::vector<NodeLibrary> libraries;
  std::uint64_t more_libraries = 0;                // that there was no room for
  std::map<std::string, std::string> environment;  // only variables that shape a BLAS
  std::string environment_reason;                  // why it is not known
  std::uint64_t threads = 0;                       // of the process, by the kernel
  std::optional<double> cpus_used;
  CpuOver cpus_used_over = CpuOver::kLife;
  report::VerdictKind verdict = report::VerdictKind::kInconclusive;
  std::string why, fix;
};

// "openblas 0.3.21 Haswell + reference", and the threads of each in the same order: "8+1".
std::string blas_in_words(const NodeProcess& process);
std::string blas_threads_in_words(const NodeProcess& process);

// Processes that could not be looked at, for one reason.
struct NodeUnread {
  std::string reason;
  std::uint64_t processes = 0;
  std::int64_t first_pid = 0;
};

struct Node {
  std::string version;
  Machine machine;
  std::string started_utc;
  std::string user;             // --user; "": all that may be read
  std::uint64_t looked_at = 0;  // processes, with a BLAS or without
  double look_s = 0;            // that it took, without the measurement of the machine's own BLAS
  std::vector<NodeProcess> processes;  // most CPU time first
  std::vector<NodeUnread> unread;
  std::optional<report::ProfileBlas> blas;  // that programs get here
  std::string blas_reason;                  // why it was not measured
  std::vector<report::SurveyedBlas> libraries;
};

template <>
const Record& record<NodeLibrary>();
template <>
const Record& record<NodeProcess>();
template <>
const Record& record<NodeUnread>();
template <>
const Record& record<Node>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::Node, model::NodeLibrary, model::NodeProcess, model::NodeUnread, model::CpuOver;
}  // namespace hwprof::report
