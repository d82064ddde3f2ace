// Counts a list of events over work that can be repeated: as many passes as the PMU needs, one
// group a pass, so that no number is multiplexed unless the caller limits the passes. Every thread
// of the process is counted, not only the caller: BLAS workers exist before main.
//
//   auto counting = Counting::open(machine, cpu, names, {});
//   for each round: counting.start(pass); work(); counting.stop(pass, tally, calls);
//   std::vector<EventCount> counts = counting.evaluate(tally);
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "counters/perf/metrics.h"
#include "counters/perf/reading.h"
#include "src/base/result.h"
#include "src/model/machine.h"

namespace hwprof {

struct CountingOptions {
  unsigned max_passes = 0;  // 0: as many as needed
};

// Raw sums of one piece of work, kept by the caller; evaluate() makes numbers of it.
struct Tally {
  struct Pass {
    std::vector<RawReading> groups;  // one a group of the pass, summed over threads
    double calls = 0;
  };
  std::vector<Pass> passes;
};

// Checks names only: Fault::kUsage for an unknown one, with the nearest names as the hint.
Result<void> check_event_names(const Machine& machine, std::span<const std::string> names);

class Counting {
 public:
  // An event that cannot be counted does not make this fail: evaluate() gives its reason.
  // Fault::kUsage for an unknown name.
  static Result<Counting> open(const Machine& machine, unsigned cpu,
                               std::span<const std::string> names, CountingOptions options);
  Counting(Counting&&) noexcept;
  Counting& operator=(Counting&&) noexcept;
  ~Counting();

  [[nodiscard]] std::size_t passes() const;   // 0 when nothing can be counted
  [[nodiscard]] std::size_t threads() const;  // counted directly, not those that they started
  // Threads that counted threads start are counted by themselves (Linux 5.13); on older kernels
  // this looks for threads born since open(), and counts them too. An ended thread keeps its sums.
  // Not between start() and stop().
  Result<void> refresh_threads();
  Result<void> start(std::size_t pass);
  Result<void> stop(std::size_t pass, Tally& tally, double calls);
  // Both around run(). A window that cannot be started or read back adds nothing: the event then
  // has no value.
  template <class F>
  void count(std::size_t pass, Tally& tally, double calls, const F& run) {
    const bool counted = start(pass).has_value();
    run();
    if (counted) (void)stop(pass, tally, calls);
  }
  [[nodiscard]] std::vector<EventCount> evaluate(const Tally& tally) const;
  // What evaluate() held the counts against; a caller who knows time and peak can add those and
  // call flag_implausible() again.
  [[nodiscard]] const Limits& limits() const;

 private:
  struct State;
  explicit Counting(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What really counts on a CPU: each event is opened, run over a little work, and read. What opens
// need not count. In the order of `names`; the caller is pinned to `cpu`. Fault::kUsage for an
// unknown name.
Result<std::vector<EventCount>> try_events(const Machine& machine, unsigned cpu,
                                           std::span<const std::string> names);

}  // namespace hwprof
