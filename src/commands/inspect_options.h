// What the commands that look at the machine were asked: plain data, checked by the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "counters/machine/machine.h"
#include "src/model/output.h"

namespace hwprof {

struct EventsOptions {
  std::vector<std::string> names;  // to be explained; empty: list all
  std::optional<CpuId> cpu;        // another machine's; absent: this one
  std::optional<unsigned> pin;     // CPU whose kind of core is meant
  Output output;
};

struct DoctorOptions {
  CpuList pin;  // empty: the CPUs that the process may use
  Output output;
};

struct PeakOptions {
  CpuList pin;  // empty: where the process may run
  std::optional<int> threads;
  Output output;
};

struct WorkloadsOptions {
  std::string name;  // of the one to write out; empty: list all
  Output output;
};

}  // namespace hwprof
