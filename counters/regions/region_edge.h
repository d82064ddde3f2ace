// What is read where a region begins or ends, and the counters of one thread that give it. One
// read() an edge and no ioctl; none at all where the kernel lets user space read the counters.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "counters/perf/counter_register.h"
#include "counters/perf/group.h"
#include "counters/perf/user_read.h"
#include "counters/regions/region_clock.h"

namespace hwprof {

// A group holds no more: x86 has at most 11 counters for one thread, and a few software events.
constexpr std::size_t kMostRegionEvents = 16;

using RegionValues = std::array<std::uint64_t, kMostRegionEvents>;  // as many as there are events

enum class ReadBy : std::uint8_t { kNobody, kCall, kUserSpace };

struct Edge {
  ReadBy read_by = ReadBy::kNobody;  // nobody: only the time
  // Set by read() alone.
  std::uint64_t enabled_ns = 0;
  std::uint64_t missed_ns = 0;  // enabled, but other events held the counters
  RegionValues values;
};

// Counters of the calling thread, running from open() on.
class ThreadCounters {
 public:
  // Leaves a quarter of the file descriptors to the program: Error::code is EMFILE then.
  static Result<ThreadCounters> open(std::span<const NativeEvent> events, bool user_only);

  // False when the kernel gave nothing; `edge.read_by` says the same.
  bool read(Edge& edge);
  struct Member {
    UserPage page;
    unsigned unused_bits = 0;
    std::uint64_t last = 0;  // what was read last

    std::uint64_t count(const UserReading& reading) {
      return last = count_since(last, reading.value, unused_bits);
    }
  };
  // Of each event; the leader first. None: no reading in user space.
  struct Members {
    Member *first = nullptr, *end = nullptr;
  };

  // The short way: in user space, or not at all. Only while user_space(). Calls `take` with the
  // number of each event and its count. Calls nothing else, so that a function that has this
  // inlined saves no registers.
  template <class Take>
  [[gnu::always_inline]] static bool read_in_user_space(Members members, std::uint64_t& missed_ns,
                                                        Take take) {
    Member* member = members.first;
    UserReading reading;
    if (!read_user_page(*member->page.get(), read_counter_register, reading)) [[unlikely]]
      return false;
    missed_ns = reading.missed_ns;
    take(std::size_t{0}, member->count(reading));
    if (++member == members.end) [[likely]]
      return true;
    std::size_t number = 1;
    do {
      if (!read_user_page(*member->page.get(), read_counter_register, reading)) [[unlikely]]
        return false;
      take(number++, member->count(reading));
    } while (++member != members.end);
    return true;
  }
  // What that gave last.
  template <class Take>
  [[gnu::always_inline]] static void take_last(Members members, Take take) {
    const Member* member = members.first;
    take(std::size_t{0}, member->last);
    if (++member == members.end) [[likely]]
      return;
    std::size_t number = 1;
    do take(number++, member->last);
    while (++member != members.end);
  }
  [[nodiscard]] Members members() const { return in_use_; }
  bool read_by_call(Edge& edge);

  [[nodiscard]] bool user_space() const { return user_space_; }
  // Somebody shares the counters: pages then only cost time.
  void stop_user_space() { user_space_ = false; }
  // Edge::missed_ns of an edge read in user space is this, or others use the counters now.
  [[nodiscard]] std::uint64_t missed_ns_alone() const { return missed_ns_alone_; }
  // The kernel times these events by the processor's counter.
  [[nodiscard]] bool page_has_counter() const { return page_has_counter_; }
  // In a child made by fork(): the mappings stayed in the parent, and the descriptors are copies.
  void forget_mappings();

 private:
  explicit ThreadCounters(Group group) : group_(std::move(group)) {}
  void map_pages();

  Group group_;
  std::vector<Member> members_;
  Members in_use_;  // of members_
  bool user_space_ = false;
  std::uint64_t missed_ns_alone_ = 0;
  bool page_has_counter_ = false;
  RawReading scratch_;
};

}  // namespace hwprof
