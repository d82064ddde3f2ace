#include "src/observe/proc/tree_counting.h"

#include <cerrno>

#include "counters/events/event_table.h"
#include "counters/events/perf_error.h"
#include "counters/machine/affinity.h"
#include "counters/perf/metrics.h"
#include "src/observe/proc/processes.h"

namespace hwprof {

Result<void> TreeCounting::open_groups(pid_t thread, bool on_exec) {
  const GroupOptions options{.thread = thread,
                             .user_only = selection_.user_only,
                             .inherit_all = true,
                             .enable_on_exec = on_exec};
  std::vector<Group> groups;
  for (const auto& members : selection_.passes.front().groups) {
    std::vector<NativeEvent> events;
    for (const std::size_t native : members) events.push_back(selection_.natives[native]);
    TRY(groups.emplace_back(), Group::open(events, options));
  }
  for (Group& group : groups) {
    if (!on_exec) TRY(group.enable());
  }
  threads_.push_back(std::move(groups));
  return {};
}

Result<TreeCounting> TreeCounting::open(const Machine& machine, pid_t pid,
                                        std::span<const std::string> names, bool on_exec) {
  const unsigned cpu = current_cpu();
  TreeCounting counting;
  TRY(counting.selection_, select_events(machine, cpu, names, 1));
  const PmuDevice* pmu = machine.pmu.for_cpu(cpu);
  counting.limits_ = limits_of(find_core(machine.id, pmu == nullptr ? "" : pmu->name));

  // Threads that are started while this loop runs are inherited from those already counted; of the
  // others it misses what they start before their turn. Listing again would count twice what was
  // inherited.
  std::vector<pid_t> threads{pid};
  if (!on_exec) {
    threads.clear();
    for (const pid_t process : process_tree(pid)) {
      const std::vector<pid_t> own = threads_of(process);
      threads.insert(threads.end(), own.begin(), own.end());
    }
  }
  for (const pid_t thread : threads) {
    if (counting.selection_.passes.empty()) break;
    auto opened = counting.open_groups(thread, on_exec);
    if (opened || (!on_exec && opened.error().code == ESRCH)) continue;
    counting.threads_.clear();
    counting.selection_.drop_last_pass(
        explain_open_failure(machine, opened.error().code, opened.error().what));
  }
  return counting;
}

std::vector<EventCount> TreeCounting::finish(const std::string& never_ran) const {
  Tally tally;
  std::string failure;
  if (!selection_.passes.empty()) {
    Tally::Pass& pass = tally.passes.emplace_back();
    pass.groups.resize(selection_.passes.front().groups.size());
    pass.calls = 1;
    RawReading reading;
    for (const std::vector<Group>& groups : threads_) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (auto done = groups[i].read(reading); !done) {
          failure = done.error().what;
          continue;
        }
        accumulate(reading, pass.groups[i]);
      }
    }
  }
  std::vector<EventCount> counts = evaluate_tally(selection_, tally);
  for (EventCount& count : counts) {
    if (count.status != CountStatus::kNotCounted || count.coverage.has_value()) continue;
    // Opened, and not enabled for a single moment.
    if (!failure.empty())
      count.reason = failure;
    else if (!never_ran.empty())
      count.reason = never_ran;
  }
  flag_implausible(counts, limits_);
  return counts;
}

}  // namespace hwprof
