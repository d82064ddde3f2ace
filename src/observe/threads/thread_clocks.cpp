#include "src/observe/threads/thread_clocks.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

constexpr double kShortestPauseNs = 19e6;  // of a look every 20 ms each is taken
constexpr double kPauseFactor = 20;        // of the time that a reading took
// A launcher such as taskset sets them early; a thread seldom changes them later.
constexpr std::uint64_t kEarlyLooks = 5, kLooksBetween = 10;
constexpr double kTreeAgeNs = 100e6;
constexpr std::size_t kMostClocks = 20'000;

CpuList cpus_of(pid_t tid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CpuList cpus;
  if (::sched_getaffinity(tid, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

std::optional<SchedStat> parse_schedstat(std::string_view text) {
  const auto words = split(trim(text), ' ');
  if (words.size() < 2) return std::nullopt;
  const auto run = parse_unsigned(words[0]), ready = parse_unsigned(words[1]);
  if (!run || !ready) return std::nullopt;
  return SchedStat{*run, *ready};
}

ThreadTimes times_of(const ThreadClock& clock) {
  const double half = clock.pause_ns / 2;
  const double begin = clock.born ? clock.seen_ns - half : clock.seen_ns;
  const double end = std::max(clock.lives_until_ns.value_or(clock.read_ns + half), clock.read_ns);
  const double seen = clock.read_ns - begin, life = end - begin;
  const double scale = seen > 0 ? life / seen : 1;
  ThreadTimes times;
  times.run_ns = scale * static_cast<double>(clock.last.run_ns - clock.first.run_ns);
  times.ready_ns = scale * static_cast<double>(clock.last.ready_ns - clock.first.ready_ns);
  times.blocked_ns = std::max(0.0, life - times.run_ns - times.ready_ns);
  return times;
}

ThreadClocks::ThreadClocks(pid_t root, bool born) : root_(root), born_(born) {
  look();
  born_ = true;  // those that come from now on
}

void ThreadClocks::read(pid_t pid, pid_t tid, double now_ns) {
  const auto text = read_text_file(fmt::format("/proc/{}/task/{}/schedstat", pid, tid));
  const auto stat = text ? parse_schedstat(*text) : std::nullopt;
  if (!stat) {
    if (clocks_.empty()) {
      reason_ = fmt::format(
          "/proc/{}/task/{}/schedstat cannot be read: the kernel was built "
          "without, or hides it",
          pid, tid);
    }
    return;
  }
  alive_.insert(tid);
  auto [known, added] = clocks_.try_emplace(tid);
  ThreadClock& clock = known->second;
  // A number that was given again, to a thread that has done less.
  if (!added && stat->run_ns < clock.last.run_ns) return;
  if (added) {
    clock.pid = pid;
    clock.born = born_ && tid != root_;
    clock.seen_ns = now_ns;
    if (!clock.born) clock.first = *stat;
    new_[pid].push_back(tid);
  }
  clock.pid = pid;
  clock.last = *stat;
  clock.read_ns = now_ns;
  clock.pause_ns = pause_ns_;
  if (added || looks_ < kEarlyLooks || looks_ % kLooksBetween == 0) clock.cpus = cpus_of(tid);
}

void ThreadClocks::look() {
  const double now_ns = wall_ns();
  if (now_ns < next_ns_) return;
  if (now_ns - tree_read_ns_ >= kTreeAgeNs) {
    tree_ = process_tree(root_);
    tree_read_ns_ = now_ns;
  }
  alive_.clear();
  for (const pid_t pid : tree_) {
    for (const pid_t tid : threads_of(pid)) {
      if (clocks_.size() < kMostClocks || clocks_.contains(tid)) read(pid, tid, now_ns);
    }
  }
  ++looks_;
  pause_ns_ = std::max(kShortestPauseNs, kPauseFactor * (wall_ns() - now_ns));
  next_ns_ = now_ns + pause_ns_;
}

std::map<pid_t, std::vector<pid_t>> ThreadClocks::take_new() { return std::exchange(new_, {}); }

const std::map<pid_t, ThreadClock>& ThreadClocks::finish() {
  const double now_ns = wall_ns();
  for (const pid_t tid : alive_) clocks_.at(tid).lives_until_ns = now_ns;
  return clocks_;
}

}  // namespace hwprof::observe
