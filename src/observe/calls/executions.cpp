#include "src/observe/calls/executions.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hwprof::observe {
namespace {

// They run other programs' code out of copies or translations, to which neither a breakpoint of the
// kernel nor a binding of the loader leads.
bool is_translator(std::string_view path) {
  constexpr std::array<std::string_view, 8> kBeginnings = {
      "qemu-",  "box64",          "box86", "FEXInterpreter", "wine-preloader", "wine64-preloader",
      "pinbin", "libdynamorio.so"};
  if (path.find("/valgrind/") != std::string_view::npos) return true;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](const auto& beginning) { return name.starts_with(beginning); });
}

}  // namespace

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
    if (is_translator(mapped->path)) miss(mapped->pid);
  } else if (const auto* forked = std::get_if<Forked>(&record.body)) {
    if (forked->pid == forked->parent_pid) {
      in(forked->pid);
      ++processes_[forked->pid].threads;
    } else {
      const std::uint64_t execution = in(forked->parent_pid);
      processes_[forked->pid] = {.execution = execution, .parent = forked->parent_pid};
    }
  } else if (const auto* exited = std::get_if<Exited>(&record.body)) {
    const auto known = processes_.find(exited->pid);
    if (known == processes_.end()) return;
    const bool goes_on = --known->second.threads > 0;
    if (exchanged_) lose_events_shared_with(exited->pid, goes_on);
    if (!goes_on) processes_.erase(exited->pid);
  } else if (std::holds_alternative<Lost>(record.body)) {
    complete_ = false;
  }
}

// A thread of this process has ended, and with it the process, unless that goes on.
void Executions::lose_events_shared_with(pid_t pid, bool goes_on) {
  const pid_t parent = processes_.at(pid).parent;
  for (auto& [other, process] : processes_) {
    const bool sibling = parent != 0 && process.parent == parent;
    const bool shared = other == parent || process.parent == pid || sibling;
    if (other == pid ? !goes_on : !shared) continue;
    process.may_have_lost_events = true;
    missed_.insert(process.execution);
  }
}

void Executions::miss_what_goes_on(const std::vector<pid_t>& pids) {
  std::set<std::uint64_t> going_on;
  for (const pid_t pid : pids) {
    if (const auto known = processes_.find(pid); known != processes_.end())
      going_on.insert(known->second.execution);
  }
  going_on_ = going_on.size();
  missed_.merge(going_on);
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
