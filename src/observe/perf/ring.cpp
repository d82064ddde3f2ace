#include "src/observe/perf/ring.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hwprof::observe {

Ring::Ring(UniqueFd event, void* memory, std::size_t page_bytes, std::size_t data_bytes)
    : event_(std::move(event)), memory_(memory), page_bytes_(page_bytes), data_bytes_(data_bytes) {}

Ring::Ring(Ring&& other) noexcept
    : event_(std::move(other.event_)),
      memory_(std::exchange(other.memory_, nullptr)),
      page_bytes_(other.page_bytes_),
      data_bytes_(other.data_bytes_) {}

Ring::~Ring() {
  if (memory_ != nullptr) ::munmap(memory_, page_bytes_ + data_bytes_);
}

Result<Ring> Ring::map(UniqueFd event) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  int code = 0;
  for (std::size_t bytes = kBytes; bytes >= page_bytes; bytes /= 2) {
    void* memory =
        ::mmap(nullptr, page_bytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    if (memory != MAP_FAILED) return Ring(std::move(event), memory, page_bytes, bytes);
    code = errno;
  }
  return environment_error(code,
                           fmt::format("cannot map a ring for samples: {}", std::strerror(code)),
                           "raise kernel.perf_event_mlock_kb, or end other programs that sample");
}

RingContent Ring::take(bool with_callchain) {
  auto* control = static_cast<perf_event_mmap_page*>(memory_);
  const auto* data = static_cast<const std::byte*>(memory_) + page_bytes_;
  // Pairs with the kernel's barriers: the records stand before the head says so, and are read
  // before the tail gives their room back.
  const std::uint64_t head = std::atomic_ref(control->data_head).load(std::memory_order_acquire);
  RingContent content = parse_ring({data, data_bytes_}, control->data_tail, head, with_callchain);
  std::atomic_ref(control->data_tail).store(head, std::memory_order_release);
  return content;
}

}  // namespace hwprof::observe
