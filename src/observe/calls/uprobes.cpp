#include "src/observe/calls/uprobes.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "src/observe/calls/probes.h"
#include "src/observe/proc/address_space.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kAllRings = 64U << 20U;  // bytes over all CPUs
constexpr std::size_t kSmallestRing = 256U << 10U, kLargestRing = 4U << 20U;
// Each thread of a running process needs its own events on each CPU.
constexpr std::size_t kMostDescriptors = 16384;

std::size_t configured_cpus() {
  return static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
}

std::size_t ring_bytes() {
  return std::bit_floor(std::clamp(kAllRings / configured_cpus(), kSmallestRing, kLargestRing));
}

void move_to(std::vector<UniqueFd>& all, std::vector<UniqueFd>& some) {
  std::move(some.begin(), some.end(), std::back_inserter(all));
  some.clear();
}

// Of a probe, in all processes, whether they were recorded or not.
std::uint64_t hits(const std::vector<UniqueFd>& events) {
  std::uint64_t sum = 0;
  for (const UniqueFd& fd : events) {
    std::uint64_t count = 0;
    if (::read(fd.get(), &count, sizeof(count)) == sizeof(count)) sum += count;
  }
  return sum;
}

bool is_file(const Mapped& mapped) {
  return mapped.path.starts_with('/') && !mapped.path.starts_with("//") && !mapped.deleted;
}

void allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = count;
  limit.rlim_max = std::max<rlim_t>(limit.rlim_max, count);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if not, the open fails, and says so
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

}  // namespace

Uprobes::Uprobes(ProbeGroup probes) : probes_(std::move(probes)), rings_(ring_bytes()) {}

Uprobes::~Uprobes() { remove_probes(); }

Result<Uprobes> Uprobes::open() {
  TRY(ProbeGroup probes, ProbeGroup::make());
  Uprobes uprobes(std::move(probes));
  if (!return_probes_are_safe(kernel_release())) {
    uprobes.timing_ = false;
    uprobes.tally_.stop_timing();
    uprobes.notes_.push_back(
        "The time inside calls is not measured: on this kernel (6.11 to 6.13) return probes would "
        "kill programs with a seccomp filter.");
  }
  return uprobes;
}

Result<void> Uprobes::add(const RoutineFile& file) {
  if (known_files_.contains(file.path)) return {};
  const auto [watched, is_new] = watched_files_.try_emplace(file.id, file.path);
  known_files_.emplace(file.path, watched->second);
  if (!is_new) {  // two probes at one place would count each call twice
    tally_.also_named(watched->second, file.path);
    return {};
  }
  Result<void> defined;
  for (const EntryPoint& entry : file.entries) {
    const std::uint32_t id = tally_.watch({file.path, entry});
    defined = probes_.define(entry.routine.wide ? EventKind::kWideEntry : EventKind::kEntry, file,
                             entry, id);
    if (defined && timing_ && entry.routine.timed) {
      defined = probes_.define(EventKind::kReturn, file, entry, id);
    }
    if (!defined) break;
  }
  opened_.resize(probes_.events());
  return defined;
}

Result<void> Uprobes::open_thread(pid_t tid, bool before_exec) {
  perf_event_attr attr = tree_event(kProbeHits, before_exec);
  attr.disabled = before_exec ? 1 : 0;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  add_task_records(attr);
  const auto refused = [&](int code) {
    return environment_error(
        code, fmt::format("the kernel refuses to watch process {}: {}", tid, std::strerror(code)));
  };
  if (rings_.size() == 0) {
    TRY(rings_.open(attr, tid, refused));
  } else {
    TRY(std::vector<UniqueFd> opened, rings_.add(attr, tid, refused));
    move_to(further_threads_, opened);
  }
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    TRY(open_event(i, tid, before_exec));
  }
  return {};
}

Result<void> Uprobes::open_event(std::size_t event, pid_t tid, bool before_exec) {
  perf_event_attr attr = tree_event(kProbeHits, before_exec);
  attr.disabled = before_exec ? 1 : 0;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = probes_.formats()[event].type;
  const auto refused = [](int code) {
    return environment_error(
        code, fmt::format("the kernel refuses a uprobe event: {}", std::strerror(code)));
  };
  Opened& opened = opened_[event];
  if (!is_return(event)) {
    // First: where the program runs already, it must not miss what the other one records.
    attr.sample_period = kSamplePeriod;
    TRY(std::vector<UniqueFd> sampled, rings_.add(attr, tid, refused));
    for (const UniqueFd& fd : sampled) {
      std::uint64_t id = 0;
      if (::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) == 0) samplers_.insert(id);
    }
    move_to(opened.sampled, sampled);
    if (!recording_) return {};
  }
  attr.sample_period = 1;
  TRY(std::vector<UniqueFd> recorded, rings_.add(attr, tid, refused));
  move_to(opened.recorded, recorded);
  return {};
}

// What a process is when it is joined, and probes for the files that it has mapped.
Result<void> Uprobes::add_running(pid_t pid) {
  for (const Record& record : records_of_running(pid)) {
    if (const auto* mapped = std::get_if<Mapped>(&record.body)) {
      if (!is_file(*mapped)) continue;
      if (const auto file = open_routine_file(mapped->path)) {
        TRY(add(*file));
      }
    }
    tally_.apply(record);
  }
  return {};
}

Result<void> Uprobes::attach(pid_t pid, bool before_exec) {
  began_ = steady_clock::now();
  std::vector<pid_t> threads = before_exec ? std::vector{pid} : threads_of(pid);
  if (threads.empty()) {
    return environment_error(ESRCH, fmt::format("there is no process {}", pid));
  }
  const std::size_t each = configured_cpus() * (2 * opened_.size() + 4);
  if (threads.size() * each > kMostDescriptors) {
    notes_.push_back(
        fmt::format("Only the first {} of {} threads are watched, and those that they start: more "
                    "would take too many descriptors.",
                    std::max<std::size_t>(1, kMostDescriptors / each), threads.size()));
    threads.resize(std::max<std::size_t>(1, kMostDescriptors / each));
  }
  allow_descriptors(threads.size() * each + 512);
  if (!before_exec) {
    TRY(add_running(pid));
  }
  for (const pid_t tid : threads) {
    TRY(open_thread(tid, before_exec));
  }
  attached_ = true;
  return {};
}

void Uprobes::read() {
  for (const Record& record : rings_.read()) note(record);
}

// What cannot wait until the records are in order.
void Uprobes::note(const Record& record) {
  if (const auto* sample = std::get_if<Sample>(&record.body)) {
    const auto hit = decode_hit(*sample, record.time_ns, probes_.formats());
    if (hit && !hit->leaves && !samplers_.contains(sample->event)) ++entered_;
  }
  if (const auto* forked = std::get_if<Forked>(&record.body)) {
    for (auto& [path, late] : late_files_) {
      if (late.covered.contains(forked->parent_pid)) late.covered.insert(forked->pid);
    }
  }
  const auto* mapped = std::get_if<Mapped>(&record.body);
  if (mapped == nullptr || !is_file(*mapped)) return;
  const auto known = known_files_.find(mapped->path);
  const auto late =
      known != known_files_.end() ? late_files_.find(known->second) : late_files_.end();
  if (known == known_files_.end() ||
      (late != late_files_.end() && !late->second.covered.contains(mapped->pid))) {
    newly_mapped_.emplace_back(mapped->pid, mapped->path);
  }
}

void Uprobes::apply(bool all) {
  for (const Record& record : rings_.in_order(all)) {
    const auto* sample = std::get_if<Sample>(&record.body);
    if (sample == nullptr) {
      tally_.apply(record);
      continue;
    }
    const auto hit = decode_hit(*sample, record.time_ns, probes_.formats());
    if (!hit) continue;
    if (hit->leaves || !samplers_.contains(sample->event)) {
      tally_.add(*hit);
    } else if (!recording_) {  // else, while every call is recorded, it says nothing new
      tally_.add_sample(*hit);
    }
  }
}

void Uprobes::watch_late_file(const std::string& path) {
  const auto file = open_routine_file(path);
  if (!file) {
    known_files_.emplace(path, path);
    return;
  }
  const bool is_new = !watched_files_.contains(file->id);
  if (is_new) probes_.begin_generation();
  const std::size_t first = opened_.size();
  if (auto added = add(*file); !added) {
    notes_.push_back(fmt::format("Calls into {} are not seen: {}.", path, added.error().what));
  } else if (is_new) {
    late_files_.insert({path, {first, opened_.size(), {}}});
    notes_.push_back(fmt::format(
        "The first calls into {} may be missing: it was loaded before it could be watched.", path));
  }
}

// Probes for files that nobody could foresee. Calls made before are lost, and that is said.
void Uprobes::watch_late_files() {
  for (const auto& [pid, path] : std::exchange(newly_mapped_, {})) {
    if (!known_files_.contains(path)) watch_late_file(path);
    const auto late = late_files_.find(known_files_.at(path));
    if (late == late_files_.end() || !late->second.covered.insert(pid).second) continue;
    for (const pid_t tid : threads_of(pid)) {
      for (std::size_t i = late->second.first_event; i < late->second.last_event; ++i) {
        if (!timing_ && is_return(i)) continue;
        if (auto opened = open_event(i, tid, false); !opened) {
          notes_.push_back(
              fmt::format("Some calls into {} are not seen: {}.", path, opened.error().what));
        }
      }
    }
  }
}

void Uprobes::drain() {
  read();
  watch_late_files();
  apply(false);
  if (timing_ && timing_costs_too_much(tally_.returns(), steady_clock::now() - began_)) {
    stop_timing();
  }
  if (recording_ && recording_costs_too_much(entered_, steady_clock::now() - began_)) {
    stop_recording();
  }
}

void Uprobes::stop_timing() {
  timing_ = false;
  // The kernel waits for all CPUs with each that is closed; the rings would overflow meanwhile.
  std::vector<UniqueFd> closed;
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (is_return(i)) move_to(closed, opened_[i].recorded);
  }
  closing_ = std::jthread([closed = std::move(closed)]() mutable { closed.clear(); });
  apply(true);
  tally_.stop_timing();
  notes_.push_back(
      "The time inside calls is not known: there were so many short ones that to time them would "
      "have slowed the program.");
}

void Uprobes::stop_recording() {
  if (timing_) stop_timing();
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (is_return(i)) continue;
    for (const UniqueFd& fd : opened_[i].recorded) ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  }
  // What was written before belongs to the time of full records.
  read();
  apply(true);
  recording_ = false;
}

void Uprobes::remove_probes() {
  if (closing_.joinable()) closing_.join();
  opened_.clear();  // an event in use is not removed
  for (std::string& left : probes_.remove()) notes_.push_back(std::move(left));
}

void Uprobes::count_by_sample(std::uint64_t recorded, std::uint64_t others) {
  if (others == 0) return;
  const bool nested = tally_.nested_samples();
  if (!tally_.scale_samples(others)) lost_ += others;
  notes_.push_back(fmt::format(
      "So many short calls were made that to record each would have slowed the program: of those "
      "after the first {}, 1 in {} was. All {} were counted{}; how they divide among callers, "
      "routines and shapes is an estimate.",
      recorded, kSamplePeriod, others,
      nested ? ", but some are part of others, and how many is an estimate" : ""));
}

std::vector<report::CallSite> Uprobes::finish() {
  // A process that lives on (attach) goes on calling: counted first, read second.
  std::uint64_t all = 0, recorded = 0;
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (is_return(i)) continue;
    all += hits(opened_[i].sampled);
    recorded += hits(opened_[i].recorded);
  }
  if (attached_) drain();
  lost_ = recorded > entered_ ? recorded - entered_ : 0;
  apply(true);
  if (!recording_) count_by_sample(entered_, all > recorded ? all - recorded : 0);
  added_ns_ = kRecordNs * static_cast<double>(recorded) +
              kReturnNs * static_cast<double>(tally_.returns()) +
              kCountNs * static_cast<double>(all - std::min(all, recorded));
  remove_probes();
  return tally_.sites();
}

}  // namespace hwprof::observe
