#include "src/commands/node/look.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <tuple>
#include <type_traits>

#include "counters/machine/affinity.h"
#include "src/base/account.h"
#include "src/base/text.h"
#include "src/base/utc.h"
#include "src/blas/evidence/process_readers.h"
#include "src/observe/monitor/process_texts.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

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
  library.unreadable = read.unreadable;
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
  process.more_libraries = read.more_libraries;
  for (const auto& [name, value] : read.variables)
    if (!names_job(name)) process.environment.emplace(name, value);
  process.environment_reason = std::move(read.environment_reason);
  Job job = job_of_cgroup(listed.cgroup);
  // The cgroup of a scheduler is surer than a variable, a variable than a mere session.
  if (!job.name.starts_with("slurm ")) {
    if (Job by_variable = job_of_variables(read.variables); !by_variable.name.empty())
      job = std::move(by_variable);
  }
  process.job = std::move(job.name);
  process.job_from = std::move(job.from);
  return process;
}

// Whether it waited for a lock or for a CPU is not known.
constexpr const char* kHeld =
    "what /proc tells of it did not come in time: a process holds it, or the machine is busy";

// What goes from one look to the next.
enum class KnownOf : std::uint8_t { kProcess, kReader };
template <class Numbers>
void put_known(KnownOf what, const Numbers& numbers, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<Numbers>);
  bytes.push_back(static_cast<char>(what));
  bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers);
}
template <class Numbers>
std::optional<Numbers> take_one(KnownOf what, std::string_view& bytes) {
  if (bytes.front() != static_cast<char>(what) || bytes.size() < 1 + sizeof(Numbers))
    return std::nullopt;
  Numbers numbers;
  std::memcpy(&numbers, bytes.data() + 1, sizeof numbers);
  bytes.remove_prefix(1 + sizeof numbers);
  return numbers;
}

// One reader has the rights of one user, with his group and groups.
using RightsKey = std::tuple<uid_t, gid_t, std::vector<gid_t>>;

// Most of the time is the kernel's, which writes a line for each mapping: each CPU does a part.
std::size_t most_of_one_reader(std::size_t processes) {
  constexpr std::size_t kWorthAReader = 64;  // opening the same libraries once more
  return std::clamp(processes / std::max<std::size_t>(1, allowed_cpus().size()) + 1, kWorthAReader,
                    blas::kMostProcessesOfReader);
}

std::vector<blas::ReaderTask> by_rights(const std::vector<ListedProcess>& processes) {
  const std::size_t most = most_of_one_reader(processes.size());
  const observe::SubordinateIds subordinates(read_text_file("/etc/subuid").value_or(""));
  std::map<RightsKey, std::size_t> open;
  std::vector<blas::ReaderTask> all;
  for (const ListedProcess& process : processes) {
    const Account& starter = ::geteuid() == 0 ? process.starter : own_account();
    const auto [at, is_new] =
        open.try_emplace({starter.uid, starter.gid, starter.groups}, all.size());
    if (!is_new && all[at->second].processes.size() >= most) at->second = all.size();
    if (at->second == all.size()) all.push_back({starter, {}, subordinates.counts_as(starter.uid)});
    all[at->second].processes.push_back({process.pid, process.start_ticks, process.user});
  }
  blas::put_known_users_first(all);
  return all;
}

}  // namespace

NodeLook::NodeLook(Machine machine, std::optional<uid_t> user, std::string user_name)
    : machine_(std::move(machine)), user_(user), user_name_(std::move(user_name)) {}

void NodeLook::forget_ended() {
  std::erase_if(left_, [](const Left& one) {
    pollfd event{one.ended->get(), POLLIN, 0};
    return !one.ended->valid() || ::poll(&event, 1, 0) > 0;
  });
}

void NodeLook::add_left(const blas::LeftReader& left) {
  UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, left.reader, 0)));
  left_.push_back({left, std::make_shared<UniqueFd>(std::move(ended))});
}

// By pid: whose texts could be read and who may be looked at.
Result<std::vector<ListedProcess>> NodeLook::list(report::Node& node) {
  std::set<pid_t> passed;
  for (const Left& one : left_)
    if (one.process != 0) passed.insert(one.process);
  TRY(observe::TextsOfAll all, observe::read_process_texts(passed, user_));
  for (const blas::LeftReader& one : all.left) add_left(one);
  for (const pid_t pid : passed) count_unread(kHeld, pid, node);
  const std::pair<const char*, const std::vector<pid_t>&> without[] = {
      {kHeld, all.held},
      {"what /proc tells of it, of its user's, or of all, is more than hwprof reads", all.too_much},
      {"there was no time for it: what /proc tells of others took too long", all.untold}};
  for (const auto& [reason, pids] : without)
    for (const pid_t pid : pids) count_unread(reason, pid, node);
  std::vector<ListedProcess> processes;
  const bool root = ::geteuid() == 0;
  for (observe::ProcessTexts& texts : all.texts) {
    auto process = listed_process(texts.pid, texts.stat, texts.status);
    if (!process || (user_ && process->user != *user_)) continue;
    if (!root && process->user != ::geteuid()) {
      count_unread("of other users: run hwprof as root", process->pid, node);
      continue;
    }
    if (process->main_ended) {
      count_unread("its first thread has ended, and its files in /proc with it", process->pid,
                   node);
      continue;
    }
    process->cgroup = std::move(texts.cgroup);
    processes.push_back(*std::move(process));
  }
  return processes;
}

void NodeLook::add_process(const ListedProcess& listed, blas::ReadProcess read, double now_s,
                           report::Node& node) {
  report::NodeProcess process = node_process(listed, std::move(read));
  process.user = name_of_user(listed.user, names_);
  const auto before = seen_before_.find(listed.pid);
  if (before != seen_before_.end() && before->second.start_ticks == listed.start_ticks &&
      now_s > before->second.at_s) {
    process.cpus_used = (listed.cpu_s - before->second.cpu_s) / (now_s - before->second.at_s);
    process.cpus_used_over = report::CpuOver::kInterval;
  } else {
    process.cpus_used = cpus_used_in_life(listed, now_s);
  }
  seen_[listed.pid] = {listed.pid, listed.start_ticks, listed.cpu_s, now_s};
  node.processes.push_back(std::move(process));
}

Result<report::Node> NodeLook::look() {
  const auto begin = Clock::now();
  report::Node node;
  node.version = HWPROF_VERSION;
  node.machine = machine_;
  node.user = user_name_;
  node.started_utc = utc_now();
  const double now_s = seconds_after_boot();
  forget_ended();
  TRY(const std::vector<ListedProcess> processes, list(node));
  std::map<pid_t, const ListedProcess*> by_pid;
  for (const ListedProcess& process : processes) by_pid[process.pid] = &process;

  const std::vector<blas::ReaderTask> tasks = by_rights(processes);
  std::vector<blas::LeftReader> left(left_.begin(), left_.end());
  const std::size_t left_before = left.size();
  TRY(auto read, blas::read_processes(tasks, left));
  for (std::size_t i = left_before; i < left.size(); ++i) add_left(left[i]);
  seen_before_ = std::exchange(seen_, {});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (std::size_t j = 0; j < tasks[i].processes.size(); ++j) {
      const pid_t pid = tasks[i].processes[j].pid;
      if (!read[i][j].read) {
        count_unread(read[i][j].reason, pid, node);
        continue;
      }
      ++node.looked_at;
      if (!read[i][j].libraries.empty())
        add_process(*by_pid[pid], std::move(read[i][j]), now_s, node);
    }
  }
  std::sort(node.processes.begin(), node.processes.end(), [](const auto& a, const auto& b) {
    const double one = a.cpus_used.value_or(0), other = b.cpus_used.value_or(0);
    return one != other ? one > other : a.pid < b.pid;
  });
  node.look_s = std::chrono::duration<double>(Clock::now() - begin).count();
  return node;
}

std::string NodeLook::known() const {
  std::string bytes;
  for (const auto& [pid, seen] : seen_) put_known(KnownOf::kProcess, seen, bytes);
  for (const Left& one : left_) put_known<blas::LeftReader>(KnownOf::kReader, one, bytes);
  return bytes;
}

void NodeLook::take_known(std::string_view bytes) {
  forget_ended();
  seen_.clear();
  while (!bytes.empty()) {
    if (const auto seen = take_one<Seen>(KnownOf::kProcess, bytes)) {
      seen_[seen->pid] = *seen;
    } else if (const auto left = take_one<blas::LeftReader>(KnownOf::kReader, bytes)) {
      const bool is_new = std::none_of(left_.begin(), left_.end(),
                                       [&](const Left& one) { return one.reader == left->reader; });
      if (is_new) add_left(*left);
    } else {
      return;
    }
  }
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
      } else if (library.unreadable) {
        static_cast<report::Blas&>(verdict) = library;
        verdict.why = library.reason;
        verdict.fix = "hwprof attach PID";
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
