#include "counters/perf/thread_groups.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "src/base/text.h"

namespace hwprof {
namespace {

// Kernels before 5.13 do not know inherit_thread, and refuse it.
bool can_inherit(std::span<const NativeEvent> natives, bool user_only) {
  return !natives.empty() &&
         Group::open(natives.first(1), {.user_only = user_only, .inherit_threads = true})
             .has_value();
}

}  // namespace

std::vector<pid_t> process_threads() {
  const pid_t self = gettid();
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error))
    if (const auto id = parse_int(entry.path().filename().string()); id && *id != self)
      threads.push_back(*id);
  threads.push_back(self);
  return threads;
}

Result<ThreadGroups> ThreadGroups::open(std::vector<NativeEvent> natives,
                                        std::vector<PassPlan> passes, bool user_only) {
  ThreadGroups groups;
  groups.natives_ = std::move(natives);
  groups.passes_ = std::move(passes);
  groups.user_only_ = user_only;
  if (groups.passes_.empty()) return groups;
  groups.inherit_ = can_inherit(groups.natives_, user_only);
  for (pid_t id : process_threads()) {
    auto thread = groups.open_thread(id);
    if (!thread && thread.error().code == ESRCH) continue;
    TRY(auto opened, std::move(thread));
    groups.threads_.push_back(std::move(opened));
  }
  return groups;
}

Result<ThreadGroups::Thread> ThreadGroups::open_thread(pid_t id) const {
  const GroupOptions options{.thread = id, .user_only = user_only_, .inherit_threads = inherit_};
  Thread thread{id, {}};
  for (const PassPlan& pass : passes_) {
    std::vector<OpenGroup>& opened = thread.passes.emplace_back();
    for (const auto& members : pass.groups) {
      std::vector<NativeEvent> events;
      for (std::size_t native : members) events.push_back(natives_[native]);
      TRY(auto group, Group::open(events, options));
      opened.push_back({std::move(group), {}});
      opened.back().last.values.assign(members.size(), 0);
    }
  }
  return thread;
}

Result<void> ThreadGroups::start(std::size_t pass) {
  for (Thread& thread : threads_)
    for (OpenGroup& open : thread.passes[pass]) TRY(open.group.enable());
  return {};
}

Result<void> ThreadGroups::stop(std::size_t pass, std::vector<RawReading>& sums) {
  Result<void> outcome;  // the first failure; the rest is stopped all the same
  for (auto thread = threads_.rbegin(); thread != threads_.rend(); ++thread)
    for (OpenGroup& open : thread->passes[pass])
      if (auto done = open.group.disable(); !done && outcome) outcome = done;
  TRY(outcome);
  sums.resize(passes_[pass].groups.size());
  for (Thread& thread : threads_)
    for (std::size_t i = 0; i < thread.passes[pass].size(); ++i) {
      OpenGroup& open = thread.passes[pass][i];
      TRY(open.group.read(scratch_));
      accumulate(difference(scratch_, open.last), sums[i]);
      std::swap(open.last, scratch_);
    }
  return {};
}

Result<void> ThreadGroups::refresh() {
  // An inherited counter lives in the descriptor of the thread that it came from: nothing to open,
  // and nothing that may be closed.
  if (inherit_ || passes_.empty()) return {};
  const std::vector<pid_t> now = process_threads();
  const auto alive = [&](const Thread& thread) {
    return std::find(now.begin(), now.end(), thread.id) != now.end();
  };
  threads_.erase(std::remove_if(threads_.begin(), threads_.end(),
                                [&](const Thread& thread) { return !alive(thread); }),
                 threads_.end());
  for (pid_t id : now) {
    if (std::any_of(threads_.begin(), threads_.end(),
                    [&](const Thread& thread) { return thread.id == id; }))
      continue;
    auto thread = open_thread(id);
    if (!thread && thread.error().code == ESRCH) continue;
    TRY(auto opened, std::move(thread));
    threads_.insert(threads_.begin(), std::move(opened));
  }
  return {};
}

}  // namespace hwprof
