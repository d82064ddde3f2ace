// Reads a counter without a system call, from the page that the kernel maps for each event. The
// protocol is that of perf_event_open(2), "MMAP layout"; the traps: a capability bit that is set
// while the index is 0 (not scheduled, or forbidden by a sysctl), a counter narrower than 64 bits,
// and a page that changes while it is read. Internal to counters/.
#pragma once

#include <linux/perf_event.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace hwprof {

// The count that `value` stands for, which is right in all but its `unused_bits` (64 - width). The
// kernel's offset refers to the register sometimes with its sign extended (set anew) and sometimes
// not (read by the kernel), so that a value is off by 2^width now and then: seen on arm64 with 32
// bits. Right as long as fewer than 2^width events happened since `last`.
inline std::uint64_t count_since(std::uint64_t last, std::uint64_t value, unsigned unused_bits) {
  return last + (((value - last) << unused_bits) >> unused_bits);
}

// Bits of the register. Absent where the counter cannot be read in user space: a software event, or
// no permission. Both stay as they are for as long as the event is open.
std::optional<unsigned> readable_width(const volatile perf_event_mmap_page& page);

struct UserReading {
  std::uint64_t value = 0;  // the count, right modulo 2^width only
  // Time enabled without running, up to now while the event is scheduled: the page's two times are
  // as old as its last change, but both are equally old.
  std::uint64_t missed_ns = 0;
};

// False when the counter cannot be read in user space at this moment. `read_register` takes the
// page's index; it is read_counter_register, but in tests. Only for events of the calling thread
// that have a readable_width(): without the capability the index stays 0, so that it is not asked
// for at each edge. (GCC 12 would build an optional result in memory.)
template <class ReadRegister>
[[gnu::always_inline]] inline bool read_user_page(const volatile perf_event_mmap_page& page,
                                                  ReadRegister read_register,
                                                  UserReading& reading) {
  // Between the fences plain loads will do, of which two can be one.
  const auto& steady = const_cast<const perf_event_mmap_page&>(page);
  std::uint32_t version = 0;
  do {
    version = page.lock;
    // The kernel changes the page on this CPU, in an interrupt: the compiler alone must not
    // reorder.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t index = page.index;
    if (index == 0) [[unlikely]]
      return false;
    const auto offset = static_cast<std::uint64_t>(steady.offset);
    reading.missed_ns = steady.time_enabled - steady.time_running;
    std::uint64_t content = 0;
    if (!read_register(index, content)) [[unlikely]]
      return false;
    // With the register's sign or without: the bits that are right are the same.
    reading.value = offset + content;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (page.lock != version);
  return true;
}

// The mapped page of one event; unmapped at the end of its life.
class UserPage {
 public:
  UserPage() = default;
  // Empty where the kernel refuses the mapping.
  explicit UserPage(int fd);
  UserPage(UserPage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  UserPage& operator=(UserPage&& other) noexcept;
  ~UserPage();

  [[nodiscard]] const volatile perf_event_mmap_page* get() const { return page_; }
  // After fork() the child has no such mapping: another may stand in its place.
  void forget() { page_ = nullptr; }

 private:
  perf_event_mmap_page* page_ = nullptr;
};

}  // namespace hwprof
