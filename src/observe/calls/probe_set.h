// Uprobes of one session, as whoever has the right to set them does it: tracefs.h, or another
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/observe/calls/probes.h"

namespace hwprof::observe {

class ProbeSet {
 public:
  struct Request {
    EventKind kind = EventKind::kEntry;
    int generation = 0;  // probes of another one are other events: those that are open take no more
    int file = -1;       // its descriptor, so that it is this file that gets probed
    std::string symbol;  // a BLAS routine
    std::uint64_t offset = 0;  // in the file
    std::uint32_t id = 0;      // comes back with each hit
  };
  ProbeSet() = default;
  ProbeSet(const ProbeSet&) = delete;
  ProbeSet& operator=(const ProbeSet&) = delete;
  virtual ~ProbeSet() = default;
  // Gives the event that the probe is one of.
  virtual Result<EventFormat> define(const Request& request) = 0;
  // Takes all out of the system, once nobody has their events open. Gives what stays, a sentence
  // each.
  virtual std::vector<std::string> remove() = 0;
};

Result<std::unique_ptr<ProbeSet>> begin_probes();

// For a process that has given its rights away, and asks another one.
using ProbeBeginner = Result<std::unique_ptr<ProbeSet>> (*)();
void begin_probes_with(ProbeBeginner beginner);

}  // namespace hwprof::observe
