// What `hwprof run`, `attach` and `blas -- COMMAND` found out about a program: plain structs with
// the unit in each name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/model/machine.h"
#include "src/model/record.h"
#include "src/model/repeats.h"

namespace hwprof::model {

struct Run {
  std::string version;
  std::vector<std::string> command;  // attach: what /proc says of the process
  std::optional<std::int64_t> attached_pid;
  std::string started_utc;
  int exit = 0;         // as a shell would say it: 128 + n for signal n
  std::string not_run;  // why the command could not be started: exit is 126 or 127, the rest empty
  bool detached = false;  // attach: the process went on
  double wall_s = 0;
  std::optional<double> user_s, system_s;
  std::optional<std::uint64_t> peak_rss_bytes;  // of the largest process of the tree
  std::string peak_rss_reason;                  // why it is absent
  std::optional<double> cpus_used;              // (user + system) / wall
  CpuList pinned;                               // empty: --pin was not given
  Machine machine;
  std::vector<EventCount> counters;  // over the whole process tree; calls is 1
  RunBlas blas;
  // With --repeat: all else here but `exit`, the last run's, is of a run of its own before them.
  std::optional<Repeats> repeats;
  std::optional<Regions> regions;  // that the program made through libhwprof
  std::vector<Warning> warnings;
};

template <>
const Record& record<Run>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::Run;
}  // namespace hwprof::report
