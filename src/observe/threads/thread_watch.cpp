#include "src/observe/threads/thread_watch.h"

#include <algorithm>
#include <set>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/observe/proc/cpu_columns.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

// Looks in which a thread may come into the list of its C library, and its code to be mapped.
constexpr int kMostLooks = 5;

std::map<unsigned, double> busy_now() {
  static const double ns_a_tick = 1e9 / ticks_a_second();
  return parse_busy(read_text_file("/proc/stat").value_or(""), ns_a_tick);
}

}  // namespace

std::map<unsigned, double> parse_busy(std::string_view stat, double ns_a_tick) {
  std::map<unsigned, double> busy;
  each_cpu(stat, [&](unsigned cpu, const auto& words) {
    if (words.size() <= kSoftIrq) return;
    for (std::size_t i = 1; i <= kSoftIrq; ++i) {
      if (i == kIdle || i == kIoWait) continue;
      busy[cpu] += ns_a_tick * static_cast<double>(parse_unsigned(words[i]).value_or(0));
    }
  });
  return busy;
}

ThreadWatch::ThreadWatch(pid_t root, bool born)
    : clocks_(root, born),
      throttling_(root),
      begin_ns_(wall_ns()),
      busy_ns_(busy_now()),
      own_ns_(process_cpu_ns()) {}

void ThreadWatch::look(const BeginsAt& begins_at) {
  clocks_.look();
  throttling_.look();
  for (const auto& [pid, tids] : clocks_.take_new()) {
    // The first thread has none.
    for (const pid_t tid : tids)
      if (tid != pid) unknown_[tid] = {pid, 0};
  }
  std::set<pid_t> processes;
  for (const auto& [tid, one] : unknown_) processes.insert(one.pid);
  for (const pid_t pid : processes) {
    for (const auto& [tid, address] : routines_.of(pid)) {
      const auto asked = unknown_.find(tid);
      if (asked != unknown_.end() && begins_at(pid, tid, address)) unknown_.erase(asked);
    }
  }
  for (auto& [tid, one] : unknown_) ++one.looks;
  std::erase_if(unknown_, [](const auto& one) { return one.second.looks >= kMostLooks; });
}

ThreadFacts ThreadWatch::finish() {
  ThreadFacts facts;
  std::set<unsigned> allowed;
  for (const auto& [tid, clock] : clocks_.finish()) {
    facts.threads.push_back({clock.pid, tid, times_of(clock)});
    allowed.insert(clock.cpus.begin(), clock.cpus.end());
  }
  facts.clocks_reason = clocks_.reason();
  facts.throttled = throttling_.finish();
  if (!facts.throttled) facts.throttled_reason = throttling_.reason();
  facts.allowed.assign(allowed.begin(), allowed.end());
  facts.wall_ns = wall_ns() - begin_ns_;
  facts.own_ns = process_cpu_ns() - own_ns_;
  const auto busy = busy_now();
  for (const unsigned cpu : allowed) {
    const auto before = busy_ns_.find(cpu);
    const auto now = busy.find(cpu);
    if (before != busy_ns_.end() && now != busy.end())
      facts.busy_ns = facts.busy_ns.value_or(0) + now->second - before->second;
  }
  return facts;
}

}  // namespace hwprof::observe
