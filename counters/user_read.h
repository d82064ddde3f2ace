// Reads a counter without a system call, from the page that the kernel maps for each event. The
// protocol is that of perf_event_open(2), "MMAP layout"; the traps: a capability bit that is set
// while the index is 0 (not scheduled, or forbidden by a sysctl), a counter narrower than 64 bits
// that is to be sign-extended, and a page that changes while it is read. Internal to counters/.
#pragma once

#include <linux/perf_event.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace hwprof {

struct UserReading {
  std::uint64_t value = 0;
  // Time enabled without running, up to now while the event is scheduled: the page's two times are
  // as old as its last change, but both are equally old.
  std::uint64_t missed_ns = 0;
};

// Index as the page gives it, less 1 -> the register's content.
std::uint64_t read_counter_register(unsigned index);

// Absent when the counter cannot be read in user space at this moment. `read_register` is
// read_counter_register, but in tests. Only for events of the calling thread.
template <class ReadRegister>
std::optional<UserReading> read_user_page(const volatile perf_event_mmap_page& page,
                                          ReadRegister read_register) {
  while (true) {
    const std::uint32_t sequence = page.lock;
    // The kernel changes the page on this CPU, in an interrupt: the compiler alone must not
    // reorder.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t index = page.index;
    if (!page.cap_user_rdpmc || index == 0) return std::nullopt;
    const unsigned unused_bits = 64U - page.pmc_width;
    const std::uint64_t missed_ns = page.time_enabled - page.time_running;
    const std::int64_t offset = page.offset;
    const auto raw = static_cast<std::int64_t>(read_register(index - 1) << (unused_bits & 63U));
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (page.lock != sequence) continue;
    return UserReading{static_cast<std::uint64_t>(offset + (raw >> (unused_bits & 63U))),
                       missed_ns};
  }
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
