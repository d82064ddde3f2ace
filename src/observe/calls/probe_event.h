// An event of probes as it is open: for each thread that was there on each CPU, and what those have
// started.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <vector>

#include "src/base/unique_fd.h"

namespace hwprof::observe {

// By the clock that the rest of hwprof goes by.
perf_event_attr probe_attributes(bool before_exec);

struct Hits {  // whether they were recorded or not
  std::uint64_t all = 0, recorded = 0;

  Hits& operator+=(const Hits& other) {
    all += other.all;
    recorded += other.recorded;
    return *this;
  }
};

struct ProbeEvent {
  std::vector<UniqueFd> recorded;  // a record for each hit
  std::vector<UniqueFd> sampled;   // of entries: count all hits, record some
  int generation = 0;              // of its probes

  void stop_recording() const;
  void stop() const;
  // In all processes.
  [[nodiscard]] Hits hits() const;
  // To be closed.
  std::vector<UniqueFd> take();
};

void move_to(std::vector<UniqueFd>& all, std::vector<UniqueFd> some);

}  // namespace hwprof::observe
