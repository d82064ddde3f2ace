#include "src/observe/calls/probe_event.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "src/observe/calls/probes.h"
#include "src/observe/perf/rings.h"

namespace hwprof::observe {
namespace {

void disable(const std::vector<UniqueFd>& events) {
  for (const UniqueFd& fd : events) ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
}

std::uint64_t sum(const std::vector<UniqueFd>& events) {
  std::uint64_t sum = 0;
  for (const UniqueFd& fd : events) {
    std::uint64_t count = 0;
    if (::read(fd.get(), &count, sizeof(count)) == sizeof(count)) sum += count;
  }
  return sum;
}

}  // namespace

perf_event_attr probe_attributes(bool before_exec) {
  perf_event_attr attr = tree_event(kProbeHits, before_exec);
  attr.disabled = before_exec ? 1 : 0;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

void ProbeEvent::stop_recording() const { disable(recorded); }

void ProbeEvent::stop() const {
  disable(recorded);
  disable(sampled);
}

Hits ProbeEvent::hits() const { return {sum(sampled), sum(recorded)}; }

std::vector<UniqueFd> ProbeEvent::take() {
  std::vector<UniqueFd> all = std::exchange(recorded, {});
  move_to(all, std::exchange(sampled, {}));
  return all;
}

void move_to(std::vector<UniqueFd>& all, std::vector<UniqueFd> some) {
  std::move(some.begin(), some.end(), std::back_inserter(all));
}

}  // namespace hwprof::observe
