// Regions in a workload of `hwprof profile`: the work once more, in named regions, for the table,
// the trace and what watching costs. The speeds of the report are measured without them.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/commands/profile/measure_options.h"
#include "src/commands/profile/session.h"
#include "src/workloads/task.h"

namespace hwprof {

// Fault::kUsage for a column that there is not, or a file that cannot be written.
Result<void> check_region_options(const MeasureOptions& options,
                                  std::span<const std::string> events);

// Chooses events and trace: before the first region of the process.
Result<void> start_regions(const RegionOptions& options, std::span<const std::string> events);
// What was recorded up to now, as the options want to see it; writes --trace and --regions. `work`:
// what was done, in words.
Result<report::Regions> collect_regions(const RegionOptions& options, const std::string& work);

struct RegionPasses {
  std::string what;             // "forward passes, variant simd"
  std::function<void()> pass;   // in regions
  std::function<void()> plain;  // the same without; may be empty: no --overhead
};

// For --flame and a page: where the CPU time of `plain` goes, sampled over calls of its own, into
// the record. What prevents it stands there as the reason; of --flame it is a warning, too.
void sample_passes(ProfileSession& session, const RegionPasses& work);

// All of it: starts, runs `pass` for a while, collects into the record, measures the overhead,
// samples the passes.
Result<void> profile_regions(ProfileSession& session, const RegionPasses& work);

// What watching costs: the same work unwatched, counted in regions, sampled and traced,
// interleaved. After start_regions() with a trace, by the thread that ran `work.pass` before.
std::vector<report::OverheadRow> measure_overhead(const RegionPasses& work,
                                                  const std::atomic<bool>& stop);

// Tasks, each in a region of its own inside `around`, with its work declared and its shape
// described. What regions are called is made beforehand: no string is allocated inside of them.
class RegionTasks {
 public:
  RegionTasks(std::string around, std::span<const Task* const> tasks);

  // Refers to this object.
  [[nodiscard]] RegionPasses passes(std::string what) const;

 private:
  struct Named {
    const Task* task;
    std::string op, shape;
  };
  void run_in_regions() const;
  void run_plain() const;

  std::string around_;
  std::vector<Named> tasks_;
};

}  // namespace hwprof
