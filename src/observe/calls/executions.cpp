#include "src/observe/calls/executions.h"

namespace hwprof::observe {

// One that nobody told of runs a program, too.
std::uint64_t Executions::in(pid_t pid) {
  const auto [process, is_new] = processes_.try_emplace(pid);
  if (is_new) process->second.execution = ++count_;
  return process->second.execution;
}

void Executions::apply(const Record& record) {
  if (const auto* named = std::get_if<Named>(&record.body); named != nullptr && named->by_exec) {
    processes_[named->pid] = {.execution = ++count_};
  } else if (const auto* forked = std::get_if<Forked>(&record.body)) {
    if (forked->pid == forked->parent_pid) {
      in(forked->pid);
      ++processes_[forked->pid].threads;
    } else {
      const std::uint64_t execution = in(forked->parent_pid);
      processes_[forked->pid] = {.execution = execution};
    }
  } else if (const auto* exited = std::get_if<Exited>(&record.body)) {
    const auto known = processes_.find(exited->pid);
    if (known != processes_.end() && --known->second.threads <= 0) processes_.erase(known);
  } else if (std::holds_alternative<Lost>(record.body)) {
    complete_ = false;
  }
}

std::vector<pid_t> Executions::processes() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes_) pids.push_back(pid);
  return pids;
}

}  // namespace hwprof::observe
