// Uprobes of one session, as whoever has the right to set them does it: tracefs.h, or another
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/observe/calls/probes.h"

namespace hwprof::observe {

class ProbeSet {
 public:
  struct Probe {
    EventKind kind = EventKind::kEntry;
    std::uint32_t id = 0;  // comes back with each hit
    EntryPoint entry;
  };
  ProbeSet() = default;
  ProbeSet(const ProbeSet&) = delete;
  ProbeSet& operator=(const ProbeSet&) = delete;
  virtual ~ProbeSet() = default;
  // In a file that is named by its descriptor, so that it is this one that gets probed; probes of
  // another generation are other events: those that are open take no more. Gives the events that
  // they are part of, each once. Where one probe is refused, those before it are set.
  virtual Result<std::vector<EventFormat>> define(int file, int generation,
                                                  std::span<const Probe> probes) = 0;
  // Takes all out of the system, once nobody has their events open. Gives what stays, a sentence
  // each.
  virtual std::vector<std::string> remove() = 0;
};

Result<std::unique_ptr<ProbeSet>> begin_probes();

// For a process that has given its rights away, and asks another one.
using ProbeBeginner = Result<std::unique_ptr<ProbeSet>> (*)();
void begin_probes_with(ProbeBeginner beginner);

}  // namespace hwprof::observe
