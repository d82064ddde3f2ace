// libpfm4 as we use it: a name -> the attributes of one event on the CPU it runs on, and whether a
// name that it could not encode is known for other CPUs. Internal to counters/, but for version()
// and knows_this_cpu(), which commands print.
#pragma once

#include <string>
#include <vector>

#include "counters/events/native_event.h"

namespace hwprof::pfm {

enum class Answer {
  kEncoded,
  kNotFound,     // no CPU that libpfm4 knows has such an event
  kOtherCpu,     // other CPUs have it: `found_on`
  kBadAttribute  // the event exists, the unit mask or modifier does not
};

struct Lookup {
  Answer answer = Answer::kNotFound;
  NativeEvent event;                  // kEncoded
  bool on_core_pmu = false;           // raw: its type is that of the core PMU in sysfs
  std::string full_name;              // "amd64_fam19h_zen4::RETIRED_SSE_AVX_FLOPS:ANY"
  std::vector<std::string> found_on;  // kOtherCpu: names of PMUs
  std::string error;                  // libpfm4's words
};

// `name`: as libpfm4 takes it, "INST_RETIRED:ANY", "spr::INST_RETIRED", "perf::CYCLES:u".
Lookup look_up(const std::string& name);

// "libpfm4 4.13"; pfm_get_version() is stuck at 4.0, so the file's name is asked.
const std::string& version();

// Does libpfm4 know the core PMU of this machine?
bool knows_this_cpu();

// Names of the events of the PMUs that it found here.
const std::vector<std::string>& event_names();

}  // namespace hwprof::pfm
