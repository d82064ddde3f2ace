#include "src/observe/monitor/requests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "counters/perf/open_event.h"
#include "src/base/text.h"
#include "src/observe/perf/records.h"
#include "src/observe/perf/rings.h"
#include "src/observe/proc/processes.h"
#include "src/observe/proc/same_program.h"

namespace hwprof::observe {
namespace {

constexpr int kDeepestTree = 256;
constexpr std::size_t kMostProbes = 8192, kMostProbedFiles = 256;
// The kernel has 65,535 numbers for events of everybody.
constexpr int kMostProbeGenerations = 4096;
constexpr std::size_t kLargestMapped = 4U << 20U, kLeastBudget = 256U << 20U;  // bytes

// Of all rings of a session, with each run of the command: no process need have them in what counts
// as its memory.
std::size_t ring_budget() {
  static const std::size_t budget = [] {
    const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
    const std::size_t memory =
        pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes)
                               : 0;
    return std::max(kLeastBudget, memory / 8);
  }();
  return budget;
}

tl::unexpected<Error> refused(int code, std::string what) {
  return environment_error(code, std::move(what));
}

// Whether the kernel numbers a PMU of cores so. Other devices trace code, or sample addresses of
// memory, beyond what a user may have.
bool is_core_pmu(std::uint32_t type) {
  constexpr std::string_view kDevices = "/sys/bus/event_source/devices";
  std::error_code error;
  std::filesystem::directory_iterator devices(kDevices, error);
  for (; !error && devices != std::filesystem::directory_iterator(); devices.increment(error)) {
    const auto& folder = devices->path();
    const auto text = read_text_file(folder / "type");
    if (text && parse_unsigned(trim(*text)) == type)
      return folder.filename() == "cpu" || std::filesystem::exists(folder / "cpus", error);
  }
  return false;
}

// AnyThread (Intel SDM 3B, IA32_PERFEVTSELx): what the core's other hardware thread does may be
// another user's, so the kernel has it for root alone. Other makers have no such bit.
bool counts_both_threads(const perf_event_attr& asked) {
#if defined(__x86_64__)
  constexpr std::uint64_t kAnyThread = std::uint64_t{1} << 21U;
  return asked.type != PERF_TYPE_HARDWARE && asked.type != PERF_TYPE_SOFTWARE &&
         asked.type != PERF_TYPE_HW_CACHE && asked.type != PERF_TYPE_TRACEPOINT &&
         (asked.config & kAnyThread) != 0;
#else
  static_cast<void>(asked);
  return false;
#endif
}

// Has called fork, and no execve since: what it runs is hwprof.
bool runs_our_copy(pid_t process) {
  constexpr std::size_t kFlags = 9 - 3;    // proc_pid_stat(5), and the first of stat_fields()
  constexpr std::uint64_t kNoExec = 0x40;  // PF_FORKNOEXEC, include/linux/sched.h
  const std::string stat = read_text_file(fmt::format("/proc/{}/stat", process)).value_or("");
  const auto fields = stat_fields(stat);
  return fields.size() > kFlags && (parse_unsigned(fields[kFlags]).value_or(0) & kNoExec) != 0;
}

// Nothing but the user's: no program that has, or had, more than that is dumpable, and then procfs
// is root's.
bool is_wholly_of(pid_t task, const Account& user) {
  struct stat maps {};
  const auto status = read_text_file(fmt::format("/proc/{}/status", task));
  if (!status || ::stat(fmt::format("/proc/{}/maps", task).c_str(), &maps) != 0) return false;
  const auto line = [&](const char* name, std::uint64_t id) {
    return fmt::format("\n{}:\t{}\t{}\t{}\t{}\n", name, id, id, id, id);
  };
  return status->find(line("Uid", user.uid)) != std::string::npos &&
         status->find(line("Gid", user.gid)) != std::string::npos &&
         status->find("\nCapPrm:\t0000000000000000\n") != std::string::npos &&
         maps.st_uid == user.uid;
}

bool has_ended(const UniqueFd& process) {
  pollfd ended{process.get(), POLLIN, 0};
  return !process.valid() || ::poll(&ended, 1, 0) != 0;
}

}  // namespace

void Requests::observe(pid_t pid, UniqueFd process, bool own) {
  std::erase_if(roots_, [](const Root& root) { return has_ended(root.process); });
  roots_.push_back({pid, std::move(process), own});
}

// Once it has ended, its number may be another's.
const Requests::Root* Requests::find_root(pid_t pid) const {
  const auto root =
      std::find_if(roots_.begin(), roots_.end(), [&](const Root& one) { return one.pid == pid; });
  return root == roots_.end() || has_ended(root->process) ? nullptr : &*root;
}

// Whether it is hwprof's own, or, which is the other possibility, descends from what is observed.
Result<bool> Requests::is_own(pid_t task) const {
  pid_t process = task;
  // Process 1 is one like others in a container. Its parent is 0.
  for (int depth = 0; depth < kDeepestTree && process > 0; ++depth) {
    const auto text = read_text_file(fmt::format("/proc/{}/status", process));
    if (!text) return refused(ESRCH, fmt::format("there is no process {}", task));
    pid_t group = 0, parent = 0;
    for (const std::string_view line : split(*text, '\n')) {
      if (line.starts_with("Tgid:")) group = parse_int(trim(line.substr(5))).value_or(0);
      if (line.starts_with("PPid:")) parent = parse_int(trim(line.substr(5))).value_or(0);
    }
    if (const Root* root = find_root(group)) return root->own && depth == 0 && runs_our_copy(group);
    process = parent;
  }
  return refused(EPERM, fmt::format("process {} is none of those that are observed", task));
}

// Whether the user may look into it is the kernel's to say (ptrace(2), access mode checking): a
// program that the user started may have taken another user's, a group's or a capability's rights.
// hwprof's own processes are the user's already, and closed to other programs of the user.
Result<void> Requests::check_task(pid_t task) const {
  TRY(const bool own, is_own(task));
  if (own || ::geteuid() != 0 || user_.uid == 0) return {};
  // In a user namespace that root has made the kernel lets nobody look from outside.
  if (is_wholly_of(task, user_)) return {};
  const ActingAs user(user_);
  if (!user.valid()) return refused(errno, "hwprof may not act as the observed user");
  const UniqueFd maps(::open(fmt::format("/proc/{}/maps", task).c_str(), O_RDONLY | O_CLOEXEC));
  if (maps.valid()) return {};
  if (errno == ENOENT || errno == ESRCH)
    return refused(ESRCH, fmt::format("there is no process {}", task));
  return refused(EPERM,
                 fmt::format("process {} has rights that the observed user does not have", task));
}

// Only what hwprof itself asks for gets through; a bit that a kernel gives a meaning later is 0.
Result<perf_event_attr> Requests::checked(const perf_event_attr& asked) const {
  const bool own_probe =
      asked.type == PERF_TYPE_TRACEPOINT &&
      std::find(probe_events_.begin(), probe_events_.end(), asked.config) != probe_events_.end();
  const bool generic = asked.type == PERF_TYPE_HARDWARE || asked.type == PERF_TYPE_SOFTWARE ||
                       asked.type == PERF_TYPE_HW_CACHE || asked.type == PERF_TYPE_RAW;
  if (!own_probe && !generic && !is_core_pmu(asked.type))
    return refused(EPERM, "this event is none that the monitor opens");
  if (counts_both_threads(asked))
    return refused(EPERM, "this event counts what another thread of the core does, too");
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = asked.type;
  attr.config = asked.config;
  attr.config1 = asked.config1;
  attr.config2 = asked.config2;
  attr.sample_period = asked.sample_period;
  constexpr std::uint64_t kSampled = kStackHits | kUserIp | kStackTop | kProbeHits | kKeepsEvents;
  // Raw bytes of another device than our own probes may be anything.
  attr.sample_type = asked.sample_type & (own_probe ? kSampled : kSampled & ~PERF_SAMPLE_RAW);
  attr.sample_regs_user = asked.sample_regs_user & (kUserIpRegister | kUnwindRegisters);
  attr.sample_stack_user = std::min(asked.sample_stack_user, kStackCopyBytes);
  attr.read_format = asked.read_format;
  attr.disabled = asked.disabled;
  attr.inherit = asked.inherit;
  attr.inherit_thread = asked.inherit_thread;
  attr.pinned = asked.pinned;
  attr.exclude_user = asked.exclude_user;
  attr.exclude_kernel = asked.exclude_kernel;
  attr.exclude_hv = asked.exclude_hv;
  attr.exclude_guest = asked.exclude_guest;
  attr.exclude_callchain_kernel = 1;
  attr.mmap = asked.mmap;
  attr.mmap2 = asked.mmap2;
  attr.comm = asked.comm;
  attr.comm_exec = asked.comm_exec;
  attr.task = asked.task;
  attr.freq = asked.freq;
  attr.enable_on_exec = asked.enable_on_exec;
  attr.watermark = asked.watermark;
  attr.wakeup_watermark = asked.wakeup_watermark;
  attr.precise_ip = asked.precise_ip;
  attr.sample_id_all = asked.sample_id_all;
  attr.use_clockid = asked.use_clockid;
  attr.clockid = asked.clockid;
  return attr;
}

// Opened disabled, and looked at again before it counts: between the first look and the call the
// task may have become a program with other rights. What it becomes later ends the event by itself
// (the kernel, at execve of a program that takes rights); the breakpoint of a probe stays while the
// event is open (docs/security.md).
Result<UniqueFd> Requests::open_event(const Question& question, const UniqueFd& leader) {
  TRY(check_task(question.pid));
  TRY(perf_event_attr attr, checked(question.attr));
  // That one would count before it is looked at again. What is held is hwprof's own until then.
  if (attr.enable_on_exec != 0) {
    TRY(const bool held, is_own(question.pid));
    if (!held) return refused(EPERM, "what runs already is counted from now on");
  }
  const bool enabled = attr.disabled == 0 && !leader.valid();
  if (enabled) attr.disabled = 1;
  UniqueFd event = hwprof::open_event(attr, question.pid, question.cpu, leader.get());
  if (!event.valid()) return refused(errno, fmt::format("perf_event: {}", std::strerror(errno)));
  TRY(check_task(question.pid));
  if (enabled && ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return refused(errno, fmt::format("PERF_EVENT_IOC_ENABLE: {}", std::strerror(errno)));
  }
  if (question.end > 0) map_ring(event, question.end);
  return event;
}

// What an unprivileged process may map is little (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK). A
// ring that is there already it may map whatever its size (kernel/events/core.c, perf_mmap).
void Requests::map_ring(const UniqueFd& event, std::size_t wanted) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (wanted > kLargestMapped) return;
  // What an ordinary user may map is for all CPUs together: the first must not take it all.
  if (::geteuid() != 0) wanted = std::min(wanted, Rings::kBytes);
  for (std::size_t bytes = wanted; bytes >= page && ring_bytes_ + bytes <= ring_budget();
       bytes /= 2) {
    void* memory =
        ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    if (memory == MAP_FAILED) continue;
    ring_bytes_ += bytes;
    rings_.push_back({memory, Unmap{page + bytes}});
    return;
  }
}

void Requests::Unmap::operator()(void* memory) const { ::munmap(memory, bytes); }

// With the user's rights, so that the kernel looks at what the process runs at that moment. Memory
// takes more where Yama says so (ptrace_scope), and a user namespace of root's refuses all.
UniqueFd Requests::open_inside(const ForeignFile& file, const Account& account,
                               const std::function<Result<void>()>& check) {
  {
    const ActingAs user(account);
    UniqueFd opened = user.valid() ? open_foreign_here(file) : UniqueFd();
    if (opened.valid()) return opened;
  }
  return open_of_one_program(file.pid, [&]() -> UniqueFd {
    UniqueFd opened;
    auto may = check();
    if (may) {
      opened = open_foreign_here(file);
      if (!opened.valid()) return {};
      may = check();
    }
    if (may) return opened;
    errno = may.error().code;
    return {};
  });
}

Result<UniqueFd> Requests::open_file(const Question& question, const std::string& path) const {
  using Kind = ForeignFile::Kind;
  const bool inside = question.file == Kind::kMaps || question.file == Kind::kMemory ||
                      question.file == Kind::kEnvironment || question.file == Kind::kPages ||
                      question.file == Kind::kPagesByNode;
  const auto check = [&]() -> Result<void> {
    TRY(const bool own, is_own(question.pid));
    if (own && inside) return refused(EPERM, "this is hwprof itself");
    return check_task(question.pid);
  };
  TRY(check());
  const ForeignFile wanted{.kind = question.file,
                           .pid = question.pid,
                           .start = question.start,
                           .end = question.end,
                           .path = path};
  const bool as_root = ::geteuid() == 0;
  UniqueFd file = as_root && inside && user_.uid != 0
                      ? open_inside(wanted, user_, check)
                      : open_foreign_here(wanted, as_root ? &user_ : nullptr);
  if (!file.valid()) return refused(errno, std::strerror(errno));
  TRY(check());
  return file;
}

Result<void> Requests::begin_probes() {
  if (probes_ != nullptr) return {};
  TRY(probes_, observe::begin_probes());
  return {};
}

Result<RoutineReader> Requests::start_reader(UniqueFd file) const {
  struct stat status {};
  struct statfs system {};
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (probes_ == nullptr || flags < 0 || (flags & O_PATH) == 0 ||
      ::fstatfs(file.get(), &system) != 0) {
    return refused(EINVAL, "this is no file for a probe");
  }
  // The kernel would read it for the probe, and wait for that program as long as it likes.
  if (system.f_type == FUSE_SUPER_MAGIC)
    return refused(EPERM, "its file system is a program of some user's (FUSE)");
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return refused(EINVAL, "this is no file for a probe");
  if (probed_files_.size() >= kMostProbedFiles)
    return refused(ENOSPC, fmt::format("more than {} files would be probed", kMostProbedFiles));
  if (reads_no_more_) return refused(ETIMEDOUT, "another file took too long to read");
  return RoutineReader::start(std::move(file), user_);
}

Result<int> Requests::take_routines(RoutineReader& reader) {
  auto routines = reader.routines();
  if (!routines) {
    reads_no_more_ = routines.error().code == ETIMEDOUT;
    return error_of(routines);
  }
  ProbedFile& probed = probed_files_.emplace_back();
  probed.file = reader.take_file();
  for (EntryPoint& entry : *routines) {
    const std::uint64_t offset = entry.offset;
    probed.routines.emplace(offset, std::move(entry));
  }
  return static_cast<int>(probed_files_.size()) - 1;
}

Result<std::vector<EventFormat>> Requests::define_probes(const Question& question,
                                                         std::string_view points) {
  static_assert(std::is_unsigned_v<std::underlying_type_t<EventKind>>);
  const auto number = static_cast<std::size_t>(question.number);  // a negative one is too large
  if (number >= probed_files_.size() || question.generation < 0 ||
      question.generation >= kMostProbeGenerations) {
    return refused(EINVAL, "this is no file for a probe");
  }
  const ProbedFile& probed = probed_files_[number];
  std::vector<ProbeSet::Probe> probes;
  for (; points.size() >= sizeof(ProbePoint); points.remove_prefix(sizeof(ProbePoint))) {
    ProbePoint point;
    std::memcpy(&point, points.data(), sizeof point);
    const auto routine = probed.routines.find(point.offset);
    if (point.kind > EventKind::kReturn || routine == probed.routines.end())
      return refused(EINVAL, "this is no place for a probe");
    probes.push_back({point.kind, point.id, routine->second});
  }
  if (probes.size() > kMostProbes - probes_defined_)
    return refused(ENOSPC, fmt::format("more than {} probes would be set", kMostProbes));
  probes_defined_ += probes.size();
  TRY(auto events, probes_->define(probed.file.get(), question.generation, probes));
  for (const EventFormat& event : events) probe_events_.push_back(event.type);
  return events;
}

std::vector<std::string> Requests::remove_probes() {
  probe_events_.clear();  // the kernel gives the numbers to others
  return probes_ == nullptr ? std::vector<std::string>() : probes_->remove();
}

std::string Requests::spent() const {
  return fmt::format("{} of {} probes in {} of {} files, {} KiB of {} MiB of rings",
                     probes_defined_, kMostProbes, probed_files_.size(), kMostProbedFiles,
                     ring_bytes_ >> 10U, ring_budget() >> 20U);
}

}  // namespace hwprof::observe
