#include "src/observe/calls/uprobes.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "src/base/text.h"
#include "src/observe/calls/probe_budget.h"
#include "src/observe/proc/maps.h"
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

std::size_t ring_bytes(std::size_t cpus) {
  return std::bit_floor(std::clamp(kAllRings / cpus, kSmallestRing, kLargestRing));
}

perf_event_attr attributes(std::size_t ring, bool before_exec) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.sample_type = kCallSampleType;
  attr.sample_id_all = 1;
  attr.inherit = 1;
  attr.disabled = before_exec ? 1 : 0;
  attr.enable_on_exec = attr.disabled;
  // A wake-up for each record costs the program 30 us a call.
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<std::uint32_t>(ring / 2);
  return attr;
}

UniqueFd perf_open(perf_event_attr& attr, pid_t tid, int cpu) {
  return UniqueFd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
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

// What a process had mapped before its records began.
std::vector<CallRecord> mapped_files(pid_t pid) {
  std::vector<CallRecord> records;
  const auto text = read_text_file(fmt::format("/proc/{}/maps", pid));
  for (Mapped& mapped : mapped_code(pid, text.value_or(""))) {
    if (!mapped.path.starts_with('/') || mapped.path.starts_with("//") || mapped.deleted) continue;
    CallRecord record;
    record.kind = CallRecord::Kind::kMap;
    record.pid = record.tid = pid;
    record.start = mapped.start;
    record.length = mapped.length;
    record.file_offset = mapped.offset;
    record.path = std::move(mapped.path);
    records.push_back(std::move(record));
  }
  return records;
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

Result<Uprobes> Uprobes::open() {
  auto tracefs = Tracefs::open();
  if (!tracefs) return error_of(tracefs);
  std::string group = new_group_name();
  if (group.empty()) return environment_error(0, "this process cannot be identified in /proc");
  Uprobes uprobes(std::move(*tracefs), std::move(group));
  if (!return_probes_are_safe(kernel_release())) {
    uprobes.timing_ = false;
    uprobes.tally_.stop_timing();
    uprobes.notes_.push_back(
        "The time inside calls is not measured: on this kernel (6.11 to 6.13) return probes would "
        "kill programs with a seccomp filter.");
  }
  return uprobes;
}

Uprobes::~Uprobes() {
  for (const Ring& ring : rings_) {
    ::munmap(ring.memory, ring.bytes + static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  }
  remove_events();
}

Result<void> Uprobes::define(EventKind kind, const RoutineFile& file, const EntryPoint& entry,
                             std::uint32_t id) {
  const std::string name =
      fmt::format("{}{}", kEventNames[static_cast<std::size_t>(kind)], generation_);
  auto defined =
      tracefs_.write_line(probe_definition(group_, name, kind, file.file.get(), entry, id));
  if (!defined) return defined;
  if (std::any_of(events_.begin(), events_.end(),
                  [&](const Event& event) { return event.name == name; })) {
    return {};
  }
  events_.push_back({name, kind, {}, {}, {}});
  const auto text = tracefs_.read(fmt::format("events/{}/{}/format", group_, name));
  const auto format = parse_event_format(text.value_or(""));
  if (!format) return environment_error(0, "the kernel does not describe its uprobe event");
  events_.back().format = *format;
  formats_.push_back(*format);
  return {};
}

Result<void> Uprobes::add(const RoutineFile& file) {
  if (!known_files_.insert(file.path).second) return {};
  for (const EntryPoint& entry : file.entries) {
    const std::uint32_t id = tally_.watch({file.path, entry});
    const EventKind kind = entry.routine.wide ? EventKind::kWideEntry : EventKind::kEntry;
    if (auto defined = define(kind, file, entry, id); !defined) {
      defined.error().what += fmt::format(" ({} of {})", entry.symbol, file.path);
      return defined;
    }
    if (timing_ && entry.routine.timed) {
      if (auto defined = define(EventKind::kReturn, file, entry, id); !defined) return defined;
    }
  }
  return {};
}

Result<void> Uprobes::open_rings(pid_t tid, bool before_exec) {
  const std::size_t cpus = configured_cpus();
  const std::size_t bytes = ring_bytes(cpus);
  perf_event_attr attr = attributes(bytes, before_exec);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.mmap = attr.mmap2 = attr.task = attr.comm = attr.comm_exec = 1;
  const bool first = rings_.empty();
  for (int cpu = 0; cpu < static_cast<int>(cpus); ++cpu) {
    UniqueFd fd = perf_open(attr, tid, cpu);
    if (!fd.valid() && errno == ENODEV) continue;  // a CPU that is offline
    if (!fd.valid()) {
      return environment_error(errno, fmt::format("the kernel refuses to watch process {}: {}", tid,
                                                  std::strerror(errno)));
    }
    if (first) {
      const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
      void* memory = ::mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
      if (memory == MAP_FAILED) {
        return environment_error(errno,
                                 fmt::format("no ring buffer for calls: {}", std::strerror(errno)));
      }
      rings_.push_back({std::move(fd), memory, bytes, cpu});
      continue;
    }
    for (const Ring& ring : rings_) {
      if (ring.cpu == cpu && ::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.fd.get()) == 0) {
        more_side_bands_.push_back(std::move(fd));
        break;
      }
    }
  }
  return {};
}

Result<void> Uprobes::open_event(Event& event, pid_t tid, bool before_exec) {
  if (event.kind != EventKind::kReturn) {
    // First: where the program runs already, it must not miss what the other one records.
    auto opened = open_on_cpus(event.sampled, event.format.type, kSamplePeriod, tid, before_exec);
    if (!opened || !recording_) return opened;
  }
  return open_on_cpus(event.opened, event.format.type, 1, tid, before_exec);
}

Result<void> Uprobes::open_on_cpus(std::vector<UniqueFd>& opened, unsigned type,
                                   std::uint64_t period, pid_t tid, bool before_exec) {
  for (const Ring& ring : rings_) {
    perf_event_attr attr = attributes(ring.bytes, before_exec);
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.config = type;
    attr.sample_period = period;
    UniqueFd fd = perf_open(attr, tid, ring.cpu);
    if (!fd.valid() && errno == ESRCH) return {};  // the thread has ended
    if (!fd.valid() || ::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.fd.get()) != 0) {
      return environment_error(
          errno, fmt::format("the kernel refuses a uprobe event: {}", std::strerror(errno)));
    }
    std::uint64_t id = 0;
    if (period > 1 && ::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) == 0) samplers_.insert(id);
    opened.push_back(std::move(fd));
  }
  return {};
}

Result<void> Uprobes::attach(pid_t pid, bool before_exec) {
  began_ = steady_clock::now();
  std::vector<pid_t> threads = before_exec ? std::vector{pid} : threads_of(pid);
  if (threads.empty()) {
    return environment_error(ESRCH, fmt::format("there is no process {}", pid));
  }
  const std::size_t each = configured_cpus() * (2 * events_.size() + 4);
  if (threads.size() * each > kMostDescriptors) {
    notes_.push_back(
        fmt::format("Only the first {} of {} threads are watched, and those that they start: more "
                    "would take too "
                    "many descriptors.",
                    std::max<std::size_t>(1, kMostDescriptors / each), threads.size()));
    threads.resize(std::max<std::size_t>(1, kMostDescriptors / each));
  }
  allow_descriptors(threads.size() * each + 512);
  if (!before_exec) {
    for (const CallRecord& record : mapped_files(pid)) {
      if (auto file = open_routine_file(record.path)) {
        if (auto added = add(*file); !added) return added;
      }
      tally_.add(record);
    }
  }
  for (const pid_t tid : threads) {
    if (auto opened = open_rings(tid, before_exec); !opened) return opened;
    for (Event& event : events_) {
      if (auto opened = open_event(event, tid, before_exec); !opened) return opened;
    }
  }
  attached_ = true;
  return {};
}

std::vector<int> Uprobes::descriptors() const {
  std::vector<int> descriptors;
  for (const Ring& ring : rings_) descriptors.push_back(ring.fd.get());
  return descriptors;
}

void Uprobes::read_ring(const Ring& ring) {
  auto* page = static_cast<perf_event_mmap_page*>(ring.memory);
  const auto* data = static_cast<const std::byte*>(ring.memory) + page->data_offset;
  const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  std::uint64_t tail = page->data_tail;
  while (tail < head) {
    const std::size_t at = tail & (ring.bytes - 1);  // records are aligned to 8: a header is whole
    perf_event_header header;
    std::memcpy(&header, data + at, sizeof(header));
    if (header.size < sizeof(header)) break;
    std::span<const std::byte> bytes(data + at, header.size);
    if (at + header.size > ring.bytes) {
      record_.assign(data + at, data + ring.bytes);
      record_.insert(record_.end(), data, data + (at + header.size - ring.bytes));
      bytes = record_;
    }
    if (auto record = decode_call_record(bytes, formats_)) {
      note_side_band(*record);
      const bool enters = record->kind == CallRecord::Kind::kEnter;
      record->sample = enters && samplers_.contains(record->event);
      if (enters && !record->sample) ++entered_;
      newest_ns_ = std::max(newest_ns_, record->time_ns);
      // While every call is recorded, a sample of them says nothing new.
      if (!record->sample || !recording_) pending_.push_back(std::move(*record));
    }
    tail += header.size;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

// What cannot wait until the records are in order.
void Uprobes::note_side_band(const CallRecord& record) {
  if (record.kind == CallRecord::Kind::kFork && record.pid != record.parent) {
    for (auto& [path, late] : late_files_) {
      if (late.covered.contains(record.parent)) late.covered.insert(record.pid);
    }
  }
  if (record.kind != CallRecord::Kind::kMap || !record.path.starts_with('/')) return;
  const auto late = late_files_.find(record.path);
  if (late != late_files_.end() ? !late->second.covered.contains(record.pid)
                                : !known_files_.contains(record.path)) {
    newly_mapped_.emplace_back(record.pid, record.path);
  }
}

// Probes for files that nobody could foresee. Calls made before are lost, and that is said.
void Uprobes::watch_late_files() {
  for (const auto& [pid, path] : std::exchange(newly_mapped_, {})) {
    auto late = late_files_.find(path);
    if (late == late_files_.end()) {
      if (known_files_.contains(path)) continue;
      const auto file = open_routine_file(path);
      if (!file) {
        known_files_.insert(path);
        continue;
      }
      ++generation_;
      const std::size_t first = events_.size();
      if (auto added = add(*file); !added) {
        notes_.push_back(fmt::format("Calls into {} are not seen: {}.", path, added.error().what));
        continue;
      }
      late = late_files_.insert({path, {first, events_.size(), {}}}).first;
      notes_.push_back(fmt::format(
          "The first calls into {} may be missing: it was loaded before it could be watched.",
          path));
    }
    if (!late->second.covered.insert(pid).second) continue;
    for (const pid_t tid : threads_of(pid)) {
      for (std::size_t i = late->second.first_event; i < late->second.last_event; ++i) {
        if (!timing_ && events_[i].kind == EventKind::kReturn) continue;
        if (auto opened = open_event(events_[i], tid, false); !opened) {
          notes_.push_back(
              fmt::format("Some calls into {} are not seen: {}.", path, opened.error().what));
        }
      }
    }
  }
}

// A record of one CPU may arrive after a later one of another: what is as old as the newest of the
// round before is complete.
void Uprobes::settle(bool all) {
  const std::uint64_t until = all ? UINT64_MAX : settled_ns_;
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const CallRecord& a, const CallRecord& b) { return a.time_ns < b.time_ns; });
  auto settled = pending_.begin();
  for (; settled != pending_.end() && settled->time_ns <= until; ++settled) {
    if (settled->sample) {
      tally_.add_sample(*settled);
    } else {
      tally_.add(*settled);
    }
  }
  pending_.erase(pending_.begin(), settled);
  settled_ns_ = newest_ns_;
}

void Uprobes::drain() {
  for (const Ring& ring : rings_) read_ring(ring);
  watch_late_files();
  settle(false);
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
  for (Event& event : events_) {
    if (event.kind != EventKind::kReturn) continue;
    std::move(event.opened.begin(), event.opened.end(), std::back_inserter(closed));
    event.opened.clear();
  }
  closing_ = std::jthread([closed = std::move(closed)]() mutable { closed.clear(); });
  settle(true);
  tally_.stop_timing();
  notes_.push_back(
      "The time inside calls is not known: there were so many short ones that to time them would "
      "have slowed the program.");
}

void Uprobes::stop_recording() {
  if (timing_) stop_timing();
  for (const Event& event : events_) {
    if (event.kind == EventKind::kReturn) continue;
    for (const UniqueFd& fd : event.opened) ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  }
  // What was written before belongs to the time of full records.
  for (const Ring& ring : rings_) read_ring(ring);
  settle(true);
  recording_ = false;
}

void Uprobes::remove_events() {
  if (closing_.joinable()) closing_.join();
  for (Event& event : events_) {
    event.opened.clear();  // an event in use is not removed
    event.sampled.clear();
    const auto removed = tracefs_.write_line(fmt::format("-:{}/{}", group_, event.name));
    if (!removed) {
      notes_.push_back(fmt::format("The probes {}/{} are left in tracefs: {}.", group_, event.name,
                                   removed.error().what));
    }
  }
  events_.clear();
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
  for (const Event& event : events_) {
    if (event.kind == EventKind::kReturn) continue;
    all += hits(event.sampled);
    recorded += hits(event.opened);
  }
  if (attached_) drain();
  lost_ = recorded > entered_ ? recorded - entered_ : 0;
  settle(true);
  if (!recording_) count_by_sample(entered_, all > recorded ? all - recorded : 0);
  remove_events();
  return tally_.sites();
}

}  // namespace hwprof::observe
