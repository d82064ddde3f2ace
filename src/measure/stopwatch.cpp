#include "src/measure/stopwatch.h"

#include <algorithm>
#include <limits>

namespace hwprof {

// The wall clock outside, so that no CPU time is missing in the wall's.
void Stopwatch::start(int threads) {
  threads_ = threads;
  waited_ = threads > 1 ? delays_.ns() : std::nullopt;
  wall_ns_ = clocks_.wall_ns();
  cpu_ns_ = clocks_.cpu_ns();
}

Span Stopwatch::stop() const {
  const double cpu_ns = clocks_.cpu_ns() - cpu_ns_;
  Span span;
  span.wall_ns = clocks_.wall_ns() - wall_ns_;
  span.stepped_back = span.wall_ns < 0 || cpu_ns < 0;
  if (span.stepped_back) return span;
  if (threads_ == 1) {
    // A clock with coarse steps (an emulator's) may not have moved.
    span.work_ns = std::max(1.0, cpu_ns);
    span.on_cpu_ns = cpu_ns;
    return span;
  }
  span.work_ns = span.on_cpu_ns = span.wall_ns;
  const std::optional<double> waited = delays_.ns();
  span.waits_known = waited_ && waited;
  if (!span.waits_known) return span;
  const double delay = std::max(0.0, *waited - *waited_);
  span.waited = delay > kWaitedShare * span.wall_ns;
  span.on_cpu_ns = std::max(0.0, span.wall_ns - delay / threads_);
  return span;
}

// The least of many: a reading costs no less, and whatever else it met is not its own.
double reading_ns(double (*clock)()) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 1000; ++i) {
    const double before = clock();
    least = std::min(least, clock() - before);
  }
  return least;
}

}  // namespace hwprof
