// The regions of the process: its threads as they come and go, what they leave behind, forks, and
// the cost of an edge. Everything but the edges themselves goes through one lock.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/machine.h"
#include "counters/perf/selection.h"
#include "counters/regions/region_clock.h"
#include "counters/regions/region_sum.h"
#include "counters/regions/region_thread.h"
#include "counters/regions/region_trace.h"

namespace hwprof {

// Which events regions count: chosen once a process, the same for every thread.

// What entering and leaving an empty region costs: the least that was seen, so that no correction
// takes away more than was added.
struct RegionCost {
  double inside_ns = 0;                 // counted as the region's own
  double outside_ns = 0;                // counted as the self of the region around it
  std::vector<double> inside, outside;  // an event each
};

struct RegionSetup {
  Machine machine;
  Selection selection;               // one pass of one group
  std::vector<NativeEvent> natives;  // of that group, in its order; empty: times only
  std::string problem;               // why HWPROF_EVENTS was not followed; may be empty
  RegionCost cost;
};

// Fault::kUsage for an unknown event. What cannot be counted stays in, with its reason. "" asks for
// no event, and then nothing is probed.
Result<RegionSetup> choose_region_events(std::string_view events);

// Of the calling thread; nullptr before its first region. __thread: no wrapper function around it,
// as an extern thread_local would have.
extern __thread RegionThread* caller_regions __attribute__((tls_model("initial-exec")));

// For atexit(): the report into the file that HWPROF_REGIONS names, and the trace.
void write_regions_at_exit();
void write_trace_at_exit();

// What threads did, summed up.
struct RegionTotals {
  RegionSums sums;
  std::uint64_t threads = 0;  // that entered a region
  std::uint64_t ended_inside = 0;
  std::uint64_t without_counters = 0, in_user_space = 0;  // threads
  std::string no_counters_because;                        // the first reason
  std::uint64_t left_by_outer = 0, not_open = 0, dropped = 0, undescribed = 0, backwards = 0;
  std::uint64_t by_counter = 0;    // threads that are timed by the processor's counter
  std::string no_counter_because;  // empty: threads may be
  std::string clock_problem;       // how the counter and CLOCK_MONOTONIC did not agree
  bool memory_watched = false;
};

class RegionRuntime {
 public:
  static RegionRuntime& instance();

  // Before the first region. Fault::kUsage: unknown event, or too late.
  Result<void> start(const std::string& events);
  // The caller's regions, made now; nullptr: no memory.
  RegionThread* start_thread() noexcept;
  // A ticket that is not the caller's. Regions that the parent process was in are no mishap.
  void leave_unknown(RegionThread::Ticket ticket) noexcept;

  // Keeps calls for a trace, `calls` of them a thread (0: as HWPROF_TRACE_CALLS says), written to
  // `path` at the end unless it is empty. Fault::kUsage: too late.
  Result<void> trace(std::string path, std::size_t calls = 0);
  // For the calling thread alone, which is in no region: whether its calls are kept. Only where
  // trace() was asked for.
  void pause_trace(bool paused);
  // Absent where nobody asked for one.
  [[nodiscard]] std::optional<TraceText> trace_text();
  // Of memory that the regions of the calling thread take, and its trace when it is full.
  struct Bytes {
    std::size_t regions = 0, trace = 0;
  };
  [[nodiscard]] Bytes bytes_of_caller();

  [[nodiscard]] RegionTotals totals();
  // Of a process with regions; else what it will be.
  [[nodiscard]] RegionSetup setup();

 private:
  struct Member;
  RegionRuntime() = default;
  void set_up();  // needs the lock
  void set_up_trace();
  void set_up_clock();
  [[nodiscard]] RegionClock clock_for(const ThreadCounters* counters) const;
  void read_clocks();  // where threads may be timed by the counter
  [[nodiscard]] std::unique_ptr<RegionTrace> make_trace() const;
  void calibrate(ThreadCounters* counters);
  void end_thread(Member* member);
  void start_again_in_child();
  static void add_mishaps(const RegionMishaps& mishaps, RegionTotals& totals);

  std::mutex mutex_;
  std::optional<RegionSetup> setup_;
  pthread_key_t key_{};
  bool has_key_ = false;  // until there is a region, key_ may be that of another library
  std::vector<Member*> live_;
  // Ended, and kept for the trace. Never destroyed.
  std::vector<Member*> traced_;
  std::uint64_t untraced_ = 0;  // calls of those for which there was no room
  std::string report_path_;     // HWPROF_REGIONS
  std::optional<std::string> trace_path_;
  std::size_t trace_calls_ = 0;  // a thread
  RegionTotals ended_;           // sums of ended threads; the counts of threads are of all
  // Of the processor's counter: whether it can be read at all, and why it is not trusted.
  bool has_counter_ = false;
  std::string no_counter_because_;
  TickLine line_;
  std::uint64_t last_number_ = 0;                       // of a thread
  std::atomic<std::uint64_t> last_foreign_number_ = 0;  // numbers up to here are of the parent
  std::atomic<std::uint64_t> not_open_ = 0;
  bool calibrated_ = false;
  bool is_fork_ = false;

  friend void write_regions_at_exit();
  friend void write_trace_at_exit();
};

}  // namespace hwprof
