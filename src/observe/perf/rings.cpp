#include "src/observe/perf/rings.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "counters/machine/affinity.h"
#include "counters/perf/open_event.h"
#include "src/base/text.h"

namespace hwprof::observe {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

CpuList online_cpus() {
  const auto text = read_text_file("/sys/devices/system/cpu/online");
  const auto list = text ? parse_cpu_list(trim(*text)) : Result<CpuList>(allowed_cpus());
  return list ? *list : allowed_cpus();
}

UniqueFd perf_open(const perf_event_attr& attr, pid_t tid, unsigned cpu,
                   std::size_t ring_bytes = 0) {
  return open_event(attr, tid, static_cast<int>(cpu), -1, ring_bytes);
}

// Of no bytes the kernel makes half of what the ring turns out to be.
void wake_when_half_full(perf_event_attr& attr) {
  if (attr.wakeup_events == 0) attr.watermark = 1;  // wakeup_watermark is the same field
}

}  // namespace

perf_event_attr tree_event(std::uint64_t sample_type, bool on_exec) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_type = sample_type;
  attr.sample_id_all = 1;
  attr.inherit = 1;
  attr.disabled = 1;
  attr.enable_on_exec = on_exec ? 1 : 0;
  return attr;
}

void add_task_records(perf_event_attr& attr) {
  attr.mmap = attr.mmap2 = attr.task = attr.comm = attr.comm_exec = 1;
}

void Rings::Unmap::operator()(void* memory) const { ::munmap(memory, bytes); }

Result<void> Rings::map(UniqueFd event, unsigned cpu) {
  int code = 0;
  for (std::size_t bytes = bytes_; bytes >= page_bytes(); bytes /= 2) {
    const std::size_t all = page_bytes() + bytes;
    void* memory = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    if (memory != MAP_FAILED) {
      rings_.push_back({std::move(event), cpu, {memory, Unmap{all}}});
      return {};
    }
    code = errno;
  }
  return environment_error(code,
                           fmt::format("cannot map a ring for records: {}", std::strerror(code)),
                           "raise kernel.perf_event_mlock_kb, or end other programs that sample");
}

Result<void> Rings::open(perf_event_attr attr, pid_t tid, const Refused& refused) {
  rings_.clear();
  sample_type_ = attr.sample_type;
  registers_ = attr.sample_regs_user;
  wake_when_half_full(attr);
  if (::geteuid() != 0 && !opens_events_elsewhere()) bytes_ = std::min(bytes_, kBytes);
  for (const unsigned cpu : online_cpus()) {
    UniqueFd event = perf_open(attr, tid, cpu, bytes_);
    if (!event.valid() && errno == ENODEV) continue;  // went offline
    if (!event.valid()) return refused(errno);
    TRY(map(std::move(event), cpu));
  }
  return {};
}

Result<std::vector<UniqueFd>> Rings::add(perf_event_attr attr, pid_t tid,
                                         const Refused& refused) const {
  wake_when_half_full(attr);
  std::vector<UniqueFd> events;
  for (const Ring& ring : rings_) {
    UniqueFd event = perf_open(attr, tid, ring.cpu);
    if (!event.valid() && errno == ESRCH) break;
    if (!event.valid() || ::ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.event.get()) != 0) {
      return refused(errno);
    }
    events.push_back(std::move(event));
  }
  return events;
}

void Rings::enable() const {
  for (const Ring& ring : rings_) ::ioctl(ring.event.get(), PERF_EVENT_IOC_ENABLE, 0);
}

void Rings::disable() const {
  for (const Ring& ring : rings_) ::ioctl(ring.event.get(), PERF_EVENT_IOC_DISABLE, 0);
}

std::vector<int> Rings::descriptors() const {
  std::vector<int> descriptors;
  for (const Ring& ring : rings_) descriptors.push_back(ring.event.get());
  return descriptors;
}

void Rings::take(const Ring& ring) {
  auto* control = static_cast<perf_event_mmap_page*>(ring.memory.get());
  const auto* data = static_cast<const std::byte*>(ring.memory.get()) + page_bytes();
  const std::size_t bytes = ring.memory.get_deleter().bytes - page_bytes();
  // Pairs with the kernel's barriers: the records stand before the head says so, and are read
  // before the tail gives their room back.
  const std::uint64_t head = std::atomic_ref(control->data_head).load(std::memory_order_acquire);
  RingContent content =
      parse_ring({data, bytes}, control->data_tail, head, sample_type_, registers_);
  std::atomic_ref(control->data_tail).store(head, std::memory_order_release);
  broken_ = broken_ || content.broken;
  for (Record& record : content.records) {
    newest_ns_ = std::max(newest_ns_, record.time_ns);
    waiting_.push_back(std::move(record));
  }
}

std::span<const Record> Rings::read() {
  const std::size_t before = waiting_.size();
  for (const Ring& ring : rings_) take(ring);
  return std::span<const Record>(waiting_).subspan(before);
}

// A record of one CPU may arrive after a later one of another: what is as old as the newest of the
// round before is complete (perf's rule).
std::vector<Record> Rings::in_order(bool all) {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Record& a, const Record& b) { return a.time_ns < b.time_ns; });
  const auto end = all ? waiting_.end()
                       : std::find_if(waiting_.begin(), waiting_.end(), [&](const Record& record) {
                           return record.time_ns > settled_ns_;
                         });
  std::vector<Record> settled(std::make_move_iterator(waiting_.begin()),
                              std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  settled_ns_ = newest_ns_;
  return settled;
}

}  // namespace hwprof::observe
