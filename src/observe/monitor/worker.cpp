#include "src/observe/monitor/worker.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "counters/perf/open_event.h"
#include "src/base/spawn.h"
#include "src/observe/monitor/client.h"
#include "src/observe/monitor/sandbox.h"
#include "src/observe/proc/processes.h"
#include "src/observe/proc/signals.h"

namespace hwprof::observe {
namespace {

struct Channels {
  Channel questions, events, hand;
};

// The worker's process from its first moment to its last.
[[noreturn]] void be_worker(const Account& user, Channels to, const MonitorOptions& options,
                            const WorkerTask& work) {
  SignalWatch::restore_in_child();
  // A command has it all as well.
  if (options.attach) leave_what_is_the_starters(options.kept_variables);
  ignore_file_size_limit();  // it counts for the memory file of the audit library, too
  auto given_up = enter_sandbox(
      user, {to.questions.descriptor(), to.events.descriptor(), to.hand.descriptor()});
  MonitorClient client(std::move(to.questions), std::move(to.events), std::move(to.hand),
                       options.patience.answer);
  client.finish(given_up ? work(client) : error_of(given_up));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  spdlog::info("worker: {}; descriptors of events up to {} of {}", peak_memory(),
               highest_event_descriptor(), limit.rlim_cur);
  spdlog::shutdown();
  std::fflush(nullptr);
  ::_exit(0);
}

// Of what a worker leaves unread, an event among it, the last close may wait for its task's
// context, as long as the observed user likes: it is this process's, which ends after the monitor.
// It is there before the worker is, who could use all numbers of processes up.
Result<void> start_keeper(const std::vector<int>& ends) {
  const pid_t monitor = ::getpid(), pid = ::fork();
  if (pid < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid > 0) return {};
  keep_variables({});
  leave_what_is_hwprofs(ends);
  end_with_parent(monitor);
  ::prctl(PR_SET_NAME, kKeeperName);
  while (true) ::pause();
}

}  // namespace

Result<Worker> start_worker(const Account& user, Channel hand, const MonitorOptions& options,
                            const WorkerTask& work) {
  TRY(auto questions, Channel::make_pair());
  TRY(auto events, Channel::make_pair());
  std::fflush(nullptr);  // or the worker would write it, too
  TRY(start_keeper({questions.first.descriptor(), events.first.descriptor()}));
  const pid_t pid = ::fork();
  if (pid < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) {
    questions.first.close();
    events.first.close();
    be_worker(user, {std::move(questions.second), std::move(events.second), std::move(hand)},
              options, work);
  }
  hand.close();
  questions.second.close();
  events.second.close();
  TRY(UniqueFd ended, watch_child(pid));
  return Worker{pid, std::move(ended), std::move(questions.first), std::move(events.first)};
}

std::string peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);  // /proc could be held: errands.h
  return fmt::format("{} MiB of memory at most", usage.ru_maxrss >> 10);
}

}  // namespace hwprof::observe
