#include "src/observe/monitor/requests.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "counters/perf/open_event.h"
#include "src/base/text.h"
#include "src/observe/perf/records.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

constexpr int kDeepestTree = 256;
constexpr std::size_t kMostProbes = 8192;
constexpr std::size_t kLargestMapped = 4U << 20U, kMostMapped = 256U << 20U;  // bytes

tl::unexpected<Error> refused(int code, std::string what) {
  return environment_error(code, std::move(what));
}

// The type of a PMU that takes an address of code, as the kernel numbers it now.
bool is_type_of(std::uint32_t type, const char* device) {
  const auto text = read_text_file(fmt::format("/sys/bus/event_source/devices/{}/type", device));
  return text && parse_unsigned(trim(*text)) == type;
}

// While it lives, this process opens files as that user: root's rights on files do not count.
class FileRights {
 public:
  explicit FileRights(const Account& account) {
    if (::geteuid() != 0) return;
    const Account own = own_account();
    groups_ = own.groups;
    gid_ = own.gid;
    changed_ = ::setgroups(account.groups.size(), account.groups.data()) == 0;
    ::setfsgid(account.gid);
    ::setfsuid(account.uid);
  }
  ~FileRights() {
    if (!changed_) return;
    ::setfsuid(0);
    ::setfsgid(gid_);
    ::setgroups(groups_.size(), groups_.data());
  }
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

 private:
  bool changed_ = false;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
};

}  // namespace

Result<void> Requests::check_task(pid_t task) const {
  const auto denied = [&](const char* why) {
    return refused(EPERM, fmt::format("process {} {}", task, why));
  };
  pid_t process = task;
  bool observed = false;
  for (int depth = 0; depth < kDeepestTree && process > 1 && !observed; ++depth) {
    const auto text = read_text_file(fmt::format("/proc/{}/status", process));
    if (!text) return refused(ESRCH, fmt::format("there is no process {}", task));
    pid_t group = 0, parent = 0;
    for (const std::string_view line : split(*text, '\n')) {
      if (line.starts_with("Tgid:")) group = parse_int(trim(line.substr(5))).value_or(0);
      if (line.starts_with("PPid:")) parent = parse_int(trim(line.substr(5))).value_or(0);
    }
    const auto& roots = observed_.roots;
    observed = std::find(roots.begin(), roots.end(), group) != roots.end();
    process = parent;
  }
  if (!observed) return denied("is none of those that are observed");
  if (::geteuid() != 0 || observed_.user.uid == 0) return {};
  const auto owner = account_of(task);
  if (!owner) return error_of(owner);
  return owner->uid == observed_.user.uid ? Result<void>() : denied("is of another user");
}

// Only what hwprof itself asks for gets through; a bit that a kernel gives a meaning later is 0.
Result<perf_event_attr> Requests::checked(const perf_event_attr& asked) const {
  const bool own_probe =
      asked.type == PERF_TYPE_TRACEPOINT &&
      std::find(probe_events_.begin(), probe_events_.end(), asked.config) != probe_events_.end();
  if ((asked.type == PERF_TYPE_TRACEPOINT && !own_probe) || asked.type == PERF_TYPE_BREAKPOINT ||
      is_type_of(asked.type, "uprobe") || is_type_of(asked.type, "kprobe")) {
    return refused(EPERM, "this event is none that the monitor opens");
  }
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = asked.type;
  attr.config = asked.config;
  attr.config1 = asked.config1;
  attr.config2 = asked.config2;
  attr.sample_period = asked.sample_period;
  attr.sample_type = asked.sample_type & (kStackHits | kProbeHits | kUserIp);
  attr.sample_regs_user = asked.sample_regs_user & kUserIpRegister;
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
// (the kernel, at execve of a program that takes rights).
Result<UniqueFd> Requests::open_event(const Question& question, const UniqueFd& leader) {
  TRY(check_task(question.pid));
  TRY(perf_event_attr attr, checked(question.attr));
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
  for (std::size_t bytes = wanted; bytes >= page && ring_bytes_ + bytes <= kMostMapped;
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

Result<UniqueFd> Requests::open_file(const Question& question, const std::string& path) const {
  TRY(check_task(question.pid));
  UniqueFd file;
  {
    // What the process itself is takes rights on it; what it has opened takes the user's on files.
    const bool on_disk =
        question.file == ForeignFile::Kind::kMapped || question.file == ForeignFile::Kind::kInRoot;
    std::optional<FileRights> rights;
    if (on_disk) rights.emplace(observed_.user);
    file = open_foreign_here({.kind = question.file,
                              .pid = question.pid,
                              .start = question.start,
                              .end = question.end,
                              .path = path});
  }
  if (!file.valid()) return refused(errno, std::strerror(errno));
  TRY(check_task(question.pid));
  return file;
}

Result<void> Requests::begin_probes() {
  if (probes_ != nullptr) return {};
  TRY(probes_, observe::begin_probes());
  return {};
}

Result<EventFormat> Requests::define_probe(const Question& question, const std::string& symbol,
                                           const UniqueFd& file) {
  struct stat status {};
  if (probes_ == nullptr || question.probe > EventKind::kReturn || question.generation < 0 ||
      ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      question.start >= static_cast<std::uint64_t>(status.st_size)) {
    return refused(EINVAL, "this is no place for a probe");
  }
  if (++probes_defined_ > kMostProbes) {
    return refused(ENOSPC, fmt::format("more than {} probes would be set", kMostProbes));
  }
  TRY(const EventFormat format, probes_->define({.kind = question.probe,
                                                 .generation = question.generation,
                                                 .file = file.get(),
                                                 .symbol = symbol,
                                                 .offset = question.start,
                                                 .id = question.id}));
  probe_events_.push_back(format.type);
  return format;
}

std::vector<std::string> Requests::remove_probes() {
  return probes_ == nullptr ? std::vector<std::string>() : probes_->remove();
}

}  // namespace hwprof::observe
