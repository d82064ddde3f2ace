#include "src/commands/node/look.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/base/account.h"
#include "src/base/text.h"
#include "src/base/utc.h"
#include "src/blas/evidence/process_reader.h"
#include "src/observe/proc/process_list.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

// For all readers together. What a user makes hang costs this once, and his own rows.
constexpr std::chrono::seconds kLongestLook{5};

void count_unread(const std::string& reason, pid_t pid, report::Node& node) {
  const auto known = std::find_if(node.unread.begin(), node.unread.end(),
                                  [&](const auto& one) { return one.reason == reason; });
  if (known != node.unread.end()) {
    ++known->processes;
  } else {
    node.unread.push_back({reason, 1, pid});
  }
}

std::string name_of_user(uid_t user, std::map<uid_t, std::string>& known) {
  const auto [at, is_new] = known.try_emplace(user);
  if (is_new) at->second = account_of_user(user).name;
  return at->second.empty() ? std::to_string(user) : at->second;
}

report::NodeLibrary node_library(blas::MappedBlas read) {
  report::NodeLibrary library;
  static_cast<report::Blas&>(library) = read.chosen;
  library.reason = std::move(read.chosen.reason);
  library.elsewhere = read.elsewhere;
  library.deleted = read.deleted;
  return library;
}

report::NodeProcess node_process(const ListedProcess& listed, blas::ReadProcess read) {
  report::NodeProcess process;
  process.pid = listed.pid;
  process.uid = listed.user;
  process.program = listed.name;
  process.threads = listed.threads;
  for (blas::MappedBlas& library : read.libraries)
    process.libraries.push_back(node_library(std::move(library)));
  for (const auto& [name, value] : read.variables)
    if (!names_job(name)) process.environment.emplace(name, value);
  process.environment_reason = std::move(read.environment_reason);
  Job job = job_of_cgroup(read_text_file(fmt::format("/proc/{}/cgroup", listed.pid)).value_or(""));
  // The cgroup of a scheduler is surer than a variable, a variable than a mere session.
  if (!job.name.starts_with("slurm ")) {
    if (Job by_variable = job_of_variables(read.variables); !by_variable.name.empty())
      job = std::move(by_variable);
  }
  process.job = std::move(job.name);
  process.job_from = std::move(job.from);
  return process;
}

// One reader has the rights of one user, with his group and groups.
using RightsKey = std::tuple<uid_t, gid_t, std::vector<gid_t>>;

struct SameRights {
  std::vector<std::size_t> of;  // numbers in the list of processes
  std::vector<pid_t> pids;
};

// Most of the time is the kernel's, which writes a line for each mapping: each CPU does a part.
std::size_t most_of_one_reader(std::size_t processes) {
  constexpr std::size_t kWorthAReader = 64;  // opening the same libraries once more
  return std::clamp(processes / std::max<std::size_t>(1, allowed_cpus().size()) + 1, kWorthAReader,
                    blas::kMostProcessesOfReader);
}

std::vector<std::pair<Account, SameRights>> by_rights(const std::vector<ListedProcess>& processes) {
  const std::size_t most = most_of_one_reader(processes.size());
  std::map<RightsKey, std::size_t> open;
  std::vector<std::pair<Account, SameRights>> all;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Account& starter = processes[i].starter;
    const auto [at, is_new] =
        open.try_emplace({starter.uid, starter.gid, starter.groups}, all.size());
    if (is_new) {
      all.emplace_back(starter, SameRights{});
    } else if (all[at->second].second.pids.size() >= most) {
      at->second = all.size();
      all.emplace_back(starter, SameRights{});
    }
    SameRights& group = all[at->second].second;
    group.of.push_back(i);
    group.pids.push_back(processes[i].pid);
  }
  return all;
}

}  // namespace

NodeLook::NodeLook(Machine machine, std::optional<uid_t> user, std::string user_name)
    : machine_(std::move(machine)), user_(user), user_name_(std::move(user_name)) {}

Result<report::Node> NodeLook::look() {
  const auto begin = Clock::now();
  report::Node node;
  node.version = HWPROF_VERSION;
  node.machine = machine_;
  node.user = user_name_;
  node.started_utc = utc_now();
  const double now_s = seconds_after_boot();
  std::vector<ListedProcess> processes = list_processes();
  const bool root = ::geteuid() == 0;
  std::erase_if(processes, [&](const ListedProcess& process) {
    if (user_ && process.user != *user_) return true;
    if (root || process.user == ::geteuid()) return false;
    count_unread("of other users: run hwprof as root", process.pid, node);
    return true;
  });

  // All at once; nothing is taken from one before the last has been started.
  std::vector<std::pair<Account, SameRights>> groups = by_rights(processes);
  std::vector<std::optional<blas::ProcessReader>> readers;
  for (auto& [starter, group] : groups) {
    TRY(blas::ProcessReader reader,
        blas::ProcessReader::start(group.pids, root ? starter : own_account()));
    readers.emplace_back(std::move(reader));
  }
  std::map<pid_t, Seen> seen;
  std::map<uid_t, std::string> names;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const SameRights& group = groups[i].second;
    std::vector<blas::ReadProcess> read = readers[i]->finish(begin + kLongestLook);
    for (std::size_t j = 0; j < group.of.size(); ++j) {
      const ListedProcess& listed = processes[group.of[j]];
      if (!read[j].read) {
        count_unread(read[j].reason, listed.pid, node);
        continue;
      }
      ++node.looked_at;
      if (read[j].libraries.empty()) continue;
      report::NodeProcess process = node_process(listed, std::move(read[j]));
      process.user = name_of_user(listed.user, names);
      const auto before = seen_.find(listed.pid);
      if (before != seen_.end() && before->second.start_ticks == listed.start_ticks &&
          now_s > before->second.at_s) {
        process.cpus_used = (listed.cpu_s - before->second.cpu_s) / (now_s - before->second.at_s);
        process.cpus_used_over = report::CpuOver::kInterval;
      } else {
        process.cpus_used = cpus_used_in_life(listed, now_s);
      }
      seen[listed.pid] = {listed.start_ticks, listed.cpu_s, now_s};
      node.processes.push_back(std::move(process));
    }
  }
  seen_ = std::move(seen);
  std::sort(node.processes.begin(), node.processes.end(), [](const auto& a, const auto& b) {
    const double one = a.cpus_used.value_or(0), other = b.cpus_used.value_or(0);
    return one != other ? one > other : a.pid < b.pid;
  });
  node.look_s = std::chrono::duration<double>(Clock::now() - begin).count();
  return node;
}

void judge_node(const blas::LoadedContext& context, report::Node& node) {
  for (report::NodeProcess& process : node.processes) {
    std::vector<report::Verdict> all;
    for (report::NodeLibrary& library : process.libraries) {
      report::Verdict verdict;
      if (library.deleted) {
        static_cast<report::Blas&>(verdict) = library;
        verdict.why = "its file was replaced or removed since the process began";
        verdict.fix = "restart the process";
      } else {
        verdict = blas::judge_loaded(context, library, process.environment);
      }
      static_cast<report::Verdict&>(library) = verdict;
      all.push_back(std::move(verdict));
    }
    report::Verdict verdict = blas::judge_process(all);
    process.verdict = verdict.verdict;
    process.why = std::move(verdict.why);
    process.fix = std::move(verdict.fix);
  }
}

}  // namespace hwprof
