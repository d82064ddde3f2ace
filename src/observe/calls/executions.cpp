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
    Process& process = processes_[named->pid];
    unmapped_.insert(++count_);
    if (process.may_have_lost_events) missed_.insert(count_);
    process = {.execution = count_, .parent = process.parent};
  } else if (const auto* mapped = std::get_if<Mapped>(&record.body)) {
    unmapped_.erase(in(mapped->pid));
  } else if (const auto* forked = std::get_if<Forked>(&record.body)) {
    if (forked->pid == forked->parent_pid) {
      in(forked->pid);
      ++processes_[forked->pid].threads;
      processes_[forked->pid].may_have_lost_events = true;  // once one of the two has ended
    } else {
      const std::uint64_t execution = in(forked->parent_pid);
      processes_[forked->pid] = {.execution = execution, .parent = forked->parent_pid};
    }
  } else if (const auto* exited = std::get_if<Exited>(&record.body)) {
    const auto known = processes_.find(exited->pid);
    if (known != processes_.end() && --known->second.threads <= 0) end(exited->pid);
  } else if (std::holds_alternative<Lost>(record.body)) {
    complete_ = false;
  }
}

void Executions::end(pid_t pid) {
  const pid_t parent = processes_.at(pid).parent;
  processes_.erase(pid);
  for (auto& [other, process] : processes_) {
    const bool sibling = parent != 0 && process.parent == parent;
    if (other == parent || process.parent == pid || sibling) process.may_have_lost_events = true;
  }
}

std::uint64_t Executions::watched() const {
  std::set<std::uint64_t> missed = unmapped_;
  missed.insert(missed_.begin(), missed_.end());
  return count_ - missed.size();
}

std::vector<pid_t> Executions::processes() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes_) pids.push_back(pid);
  return pids;
}

}  // namespace hwprof::observe
