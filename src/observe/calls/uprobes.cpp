#include "src/observe/calls/uprobes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "src/observe/calls/probes.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/proc/address_space.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kAllRings = 64U << 20U;  // bytes over all CPUs
constexpr std::size_t kSmallestRing = 256U << 10U, kLargestRing = 4U << 20U;
// Each thread of a running process needs its own events on each CPU.
constexpr std::size_t kMostDescriptors = 16384;
constexpr std::size_t kMostNotes = 16;
constexpr const char* kTooManyToTime =
    "The time inside calls is not known: there were so many short ones that to time them would "
    "have slowed the program.";
constexpr std::uint64_t kAlways = 0, kNever = ~std::uint64_t{0};

std::size_t configured_cpus() {
  return static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
}

std::size_t ring_bytes() {
  return std::bit_floor(std::clamp(kAllRings / configured_cpus(), kSmallestRing, kLargestRing));
}

UniqueFd duplicate(const UniqueFd& file) {
  return UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace

Uprobes::Uprobes(ProbeGroup probes)
    : probes_(std::move(probes)),
      rings_(ring_bytes()),
      changes_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

Uprobes::~Uprobes() { remove_probes(); }

Result<Uprobes> Uprobes::open(bool timed) {
  TRY(ProbeGroup probes, ProbeGroup::make());
  Uprobes uprobes(std::move(probes));
  if (!timed) uprobes.stop_timing("");
  if (timed && !return_probes_are_safe(kernel_release())) {
    uprobes.stop_timing(
        "The time inside calls is not measured: on this kernel (6.11 to 6.13) return probes would "
        "kill programs with a seccomp filter.");
  }
  return uprobes;
}

std::vector<int> Uprobes::descriptors() const {
  std::vector<int> all = rings_.descriptors();
  if (changes_.valid()) all.push_back(changes_.get());
  return all;
}

void Uprobes::say(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) != notes_.end()) return;
  if (notes_.size() < kMostNotes) {
    notes_.push_back(std::move(note));
  } else {
    ++unsaid_;
  }
}

Result<void> Uprobes::add(const RoutineFile& file) {
  const bool same_name =
      std::any_of(watched_files_.begin(), watched_files_.end(),
                  [&](const auto& known) { return known.second.path == file.path; });
  const auto [known, is_new] = watched_files_.try_emplace(file.id);
  WatchedFile& watched = known->second;
  if (!is_new) {  // two probes at one place would count each call twice
    if (watched.path != file.path) tally_.also_named(watched.path, file.path);
    return {};
  }
  watched = {.path = file.path,
             .from_ns = file.unseen.empty() ? kAlways : kNever,
             .file = duplicate(file.file),
             .version = file.version,
             .generation = probes_.generation()};
  ::inotify_add_watch(changes_.get(), fmt::format("/proc/self/fd/{}", watched.file.get()).c_str(),
                      IN_MODIFY | IN_ONESHOT);
  for (const std::string& what : file.unseen) say(fmt::format("{} {}.", file.path, what));
  if (same_name) {
    say(fmt::format(
        "Two files are called {}, in turn or in different mount namespaces: their calls "
        "are added up.",
        file.path));
  }
  std::vector<ProbeSet::Probe> probes;
  for (const EntryPoint& entry : file.entries) {
    const std::uint32_t id = tally_.watch({file.path, entry});
    const bool wide = entry.routine.wide;
    probes.push_back({wide ? EventKind::kWideEntry : EventKind::kEntry, id, entry});
    if (timing_ && entry.routine.timed) probes.push_back({EventKind::kReturn, id, entry});
  }
  Result<void> defined = probes_.define(file, probes);
  while (opened_.size() < probes_.events())
    opened_.emplace_back().generation = probes_.generation();
  if (file_id(open_regular_file(file.path).get()) != file.id) elsewhere_.insert(file.path);
  return defined;
}

Result<void> Uprobes::keep_within_budget(std::size_t descriptors) {
  descriptors_ += descriptors;
  rlimit limit{};
  // Samples and counters need as many again.
  const std::size_t most = ::getrlimit(RLIMIT_NOFILE, &limit) == 0
                               ? std::min<std::size_t>(kMostDescriptors, limit.rlim_cur / 2)
                               : kMostDescriptors;
  if (descriptors_ <= most) return {};
  return environment_error(EMFILE, fmt::format("they would take more than {} descriptors", most));
}

Result<void> Uprobes::open_thread(const Span& span, pid_t tid, bool before_exec) {
  if (span.records) {
    perf_event_attr attr = probe_attributes(before_exec);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    add_task_records(attr);
    const auto refused = [&](int code) {
      return environment_error(code, fmt::format("the kernel refuses to watch process {}: {}", tid,
                                                 std::strerror(code)));
    };
    const auto open = [&]() -> Result<void> {
      if (rings_.size() == 0) return rings_.open(attr, tid, refused);
      TRY(std::vector<UniqueFd> opened, rings_.add(attr, tid, refused));
      move_to(further_threads_, std::move(opened));
      return {};
    };
    attr.sample_type |= kKeepsEvents;
    Result<void> opened = open();
    if (!opened && opened.error().code == EINVAL) {
      attr.sample_type &= ~kKeepsEvents;
      executions_.events_are_exchanged();
      opened = open();
    }
    TRY(opened);
  }
  for (std::size_t i = span.first; i < span.last; ++i) {
    if (!timing_ && is_return(i)) continue;
    TRY(open_event(i, tid, before_exec));
  }
  return keep_within_budget(rings_.size() * (2 * (span.last - span.first) + 1));
}

Result<void> Uprobes::open_event(std::size_t event, pid_t tid, bool before_exec) {
  perf_event_attr attr = probe_attributes(before_exec);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = probes_.formats()[event].type;
  const auto refused = [](int code) {
    return environment_error(
        code, fmt::format("the kernel refuses a uprobe event: {}", std::strerror(code)));
  };
  ProbeEvent& opened = opened_[event];
  if (!is_return(event)) {
    // First: where the program runs already, it must not miss what the other one records.
    attr.sample_period = kSamplePeriod;
    TRY(std::vector<UniqueFd> sampled, rings_.add(attr, tid, refused));
    for (const UniqueFd& fd : sampled) {
      std::uint64_t id = 0;
      if (::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) == 0) samplers_.insert(id);
    }
    move_to(opened.sampled, std::move(sampled));
    if (!recording_) return {};
  }
  attr.sample_period = 1;
  TRY(std::vector<UniqueFd> recorded, rings_.add(attr, tid, refused));
  move_to(opened.recorded, std::move(recorded));
  return {};
}

// That live, as far as is known: parents may have ended before their children.
std::vector<pid_t> Uprobes::processes() const {
  std::set<pid_t> all;
  std::vector<pid_t> known = executions_.processes();
  known.push_back(root_);
  for (const pid_t pid : known) {
    if (all.contains(pid)) continue;
    for (const pid_t one : process_tree(pid)) all.insert(one);
  }
  return {all.begin(), all.end()};
}

// Threads that start meanwhile inherit the events, or are found in the next round.
Result<void> Uprobes::open_in_all(const Span& span) {
  constexpr int kRounds = 8;
  std::set<pid_t> opened;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t before = opened.size();
    for (const pid_t pid : processes()) {
      for (const pid_t tid : threads_of(pid)) {
        if (!opened.insert(tid).second) continue;
        const auto done = open_thread(span, tid, false);
        if (done || done.error().code == ESRCH) continue;
        if (rings_.size() == 0 || (done.error().code != EPERM && done.error().code != EACCES)) {
          return done;
        }
        say(fmt::format("Calls of process {} are not seen: {}.", pid, done.error().what));
        executions_.miss(pid);
      }
    }
    if (opened.size() == before) return {};
  }
  return environment_error(EAGAIN, "threads start faster than they can be watched");
}

Result<void> Uprobes::attach(pid_t pid, bool before_exec) {
  began_ = steady_clock::now();
  root_ = pid;
  if (before_exec) {
    TRY(open_thread({0, opened_.size(), true}, pid, true));
    attached_ = true;
    return {};
  }
  // Probes for what is mapped already, then the events, then what was mapped in between.
  const std::uint64_t now_ns = Clocks::now().monotonic_ns;
  std::set<FileId> looked_at;
  for (const pid_t one : processes()) {
    for (const Record& record : records_of_running(one)) {
      const auto* mapped = std::get_if<Mapped>(&record.body);
      if (mapped == nullptr || !is_file(*mapped) || !looked_at.insert(mapped->file).second)
        continue;
      // One without is looked at again below.
      if (const auto file = read_routines(open_mapped(*mapped), mapped->path)) TRY(add(*file));
    }
  }
  const auto opened = open_in_all({0, opened_.size(), true});
  if (!opened && rings_.size() == 0) return opened;
  const std::vector<pid_t> all = processes();
  for (const pid_t one : all) {
    for (Record& record : records_of_running(one)) {
      record.time_ns = now_ns;  // at the latest
      note(record);
      look_at_new_files();
      apply(record);
    }
  }
  if (!opened) {
    say(fmt::format("Not every thread of process {} is watched: {}.", pid, opened.error().what));
    for (const pid_t one : all) executions_.miss(one);
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
  const auto* mapped = std::get_if<Mapped>(&record.body);
  if (mapped == nullptr || !is_file(*mapped)) return;
  if (known_files_.find(*mapped, record.time_ns) == nullptr)
    newly_mapped_.push_back({*mapped, record.time_ns});
}

bool Uprobes::sees_all_calls(const Mapped& mapped, std::uint64_t time_ns) const {
  if (!is_file(mapped)) return !is_nameless_file(mapped);
  const KnownFile* known = known_files_.find(mapped, time_ns);
  if (known == nullptr || !known->probed) return known != nullptr;
  const auto watched = watched_files_.find(*known->probed);
  return mapped.takes_probes && watched != watched_files_.end() &&
         time_ns >= watched->second.from_ns;
}

void Uprobes::apply(const Record& record) {
  executions_.apply(record);
  tally_.apply(record);
  const auto* mapped = std::get_if<Mapped>(&record.body);
  if (mapped != nullptr && !sees_all_calls(*mapped, record.time_ns)) executions_.miss(mapped->pid);
}

void Uprobes::apply(bool all) {
  for (const Record& record : rings_.in_order(all)) {
    const auto* sample = std::get_if<Sample>(&record.body);
    if (sample == nullptr) {
      apply(record);
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

void Uprobes::watch_late(const RoutineFile& file) {
  if (const auto known = watched_files_.find(file.id); known != watched_files_.end()) {
    tally_.also_named(known->second.path, file.path);
    return;
  }
  if (ending_) return;
  probes_.begin_generation();
  const std::size_t first = opened_.size();
  Result<void> opened = add(file);
  if (opened) opened = open_in_all({first, opened_.size(), false});
  if (opened && file.unseen.empty()) {
    say(fmt::format(
        "The first calls into {} may be missing: it was loaded before it could be watched.",
        file.path));
  } else if (!opened) {
    say(fmt::format("Some calls into {} are not seen: {}.", file.path, opened.error().what));
  }
  watched_files_.at(file.id).from_ns =
      opened && file.unseen.empty() ? Clocks::now().monotonic_ns : kNever;
}

void Uprobes::beware_of_exceptions(int file, const std::string& path) {
  if (!timing_ || !throws_.empty() || !answers_for_blas(file)) return;
  throws_ = fmt::format(
      "The time inside calls is not measured: {} is told of wrong arguments (xerbla_), and return "
      "probes would end a program that throws an exception there.",
      path);
  if (!attached_) stop_timing(throws_);
}

void Uprobes::look_at(const Mapped& mapped, std::uint64_t time_ns) {
  if (!known_files_.is_to_be_read(mapped, time_ns)) return;
  if (known_files_.full()) {
    return say(fmt::format("More than {} files were mapped: the others were not looked at.",
                           KnownFiles::kMost));
  }
  UniqueFd file = open_mapped(mapped);
  auto known = known_files_.begin(mapped, file);
  if (!known) return;  // the next process that maps it may live long enough
  if (gives_rights(file.get()) || holds_foreign_code(file.get())) known->from_ns = kNever;
  known->probed = file_id(file.get());
  const auto watched = watched_files_.find(*known->probed);
  if (watched != watched_files_.end() && watched->second.version == known->version) {
    tally_.also_named(watched->second.path, mapped.path);
  } else {
    const auto routines = read_routines(duplicate(file), mapped.path);
    if (version_of(file.get()) != known->version) return;  // it is being written
    if (routines) {
      watch_late(*routines);
    } else {
      known->probed.reset();
      beware_of_exceptions(file.get(), mapped.path);
    }
  }
  known_files_.add(mapped, *std::move(known));
}

void Uprobes::look_at_new_files() {
  for (const NewlyMapped& one : std::exchange(newly_mapped_, {})) look_at(one.mapped, one.time_ns);
}

void Uprobes::give_up_changed_files() {
  for (std::array<char, 4096> told; ::read(changes_.get(), told.data(), told.size()) > 0;) {
  }
  std::set<int> generations;
  for (auto& [id, watched] : watched_files_) {
    const auto version = version_of(watched.file.get());
    if (watched.given_up || (version && version->has_bytes_of(watched.version))) continue;
    watched.given_up = true;
    watched.from_ns = kNever;
    generations.insert(watched.generation);
    say(fmt::format("{} was written to while its calls were watched: from then on they are not.",
                    watched.path));
  }
  for (const int generation : generations) give_up(generation);
}

// The events of a generation, with all the probes that they have. Those of files that have not
// changed are set again.
void Uprobes::give_up(int generation) {
  for (const ProbeEvent& event : opened_)
    if (event.generation == generation) event.stop();
  read();
  std::vector<UniqueFd> closed;
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (opened_[i].generation != generation) continue;
    if (!is_return(i)) given_up_ += opened_[i].hits();
    move_to(closed, opened_[i].take());
  }
  close_later(std::move(closed));
  for (const pid_t pid : executions_.processes()) executions_.miss(pid);

  std::vector<WatchedFile> others;
  for (auto& [id, watched] : watched_files_)
    if (watched.generation == generation && !watched.given_up) others.push_back(std::move(watched));
  std::erase_if(watched_files_, [&](const auto& one) {
    return one.second.generation == generation && !one.second.given_up;
  });
  for (WatchedFile& other : others)
    if (const auto file = read_routines(std::move(other.file), other.path)) watch_late(*file);
}

// The kernel waits for all CPUs with each that is closed; the rings would overflow meanwhile.
void Uprobes::close_later(std::vector<UniqueFd> events) {
  closing_ = std::jthread([events = std::move(events)]() mutable { events.clear(); });
}

void Uprobes::drain() {
  read();
  give_up_changed_files();
  look_at_new_files();
  apply(false);
  if (timing_ && !throws_.empty()) stop_timing(throws_);
  if (timing_ && timing_costs_too_much(tally_.returns(), steady_clock::now() - began_))
    stop_timing(kTooManyToTime);
  if (recording_ && recording_costs_too_much(entered_, steady_clock::now() - began_)) {
    stop_recording();
  }
}

void Uprobes::stop_timing(std::string why) {
  timing_ = false;
  if (!why.empty()) notes_.push_back(std::move(why));
  std::vector<UniqueFd> closed;
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (is_return(i)) move_to(closed, opened_[i].take());
  }
  if (!closed.empty()) {
    close_later(std::move(closed));
    apply(true);
  }
  tally_.stop_timing();
}

void Uprobes::stop_recording() {
  if (timing_) stop_timing(kTooManyToTime);
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (is_return(i)) continue;
    opened_[i].stop_recording();
  }
  // What was written before belongs to the time of full records.
  read();
  look_at_new_files();
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
  if (!tally_.scale_samples(others)) lost_ += others;
  notes_.push_back(fmt::format(
      "So many short calls were made that to record each would have slowed the program: of those "
      "after the first {}, 1 in {} was. All {} were counted{}; how they divide among callers, "
      "routines and shapes is an estimate.",
      recorded, kSamplePeriod, others,
      tally_.nested_samples() ? ", but some are part of others, and how many is an estimate" : ""));
}

std::vector<report::CallSite> Uprobes::finish(const std::vector<pid_t>& left) {
  ending_ = true;
  // A process that lives on (attach) goes on calling: counted first, read second.
  Hits hits = given_up_;
  for (std::size_t i = 0; i < opened_.size(); ++i)
    if (!is_return(i)) hits += opened_[i].hits();
  if (attached_) drain();
  if (unsaid_ > 0) notes_.push_back(fmt::format("{} more things of this kind.", unsaid_));
  const auto [all, recorded] = hits;
  lost_ = recorded > entered_ ? recorded - entered_ : 0;
  apply(true);
  executions_.miss_what_goes_on(left);
  if (!recording_) count_by_sample(entered_, all > recorded ? all - recorded : 0);
  added_ns_ = kRecordNs * static_cast<double>(recorded) +
              kReturnNs * static_cast<double>(tally_.returns()) +
              kCountNs * static_cast<double>(all - std::min(all, recorded));
  remove_probes();
  for (std::string& note : tally_.notes()) notes_.push_back(std::move(note));
  return tally_.sites();
}

}  // namespace hwprof::observe
