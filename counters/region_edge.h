// What is read where a region begins or ends, and the counters of one thread that give it. One
// read() an edge and no ioctl; none at all where the kernel lets user space read the counters.
// Internal to counters/.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "counters/group.h"
#include "counters/user_read.h"

namespace hwprof {

// A group holds no more: x86 has at most 11 counters for one thread, and a few software events.
constexpr std::size_t kMostRegionEvents = 16;

struct Edge {
  bool counted = false;     // without: only the time
  bool user_space = false;  // then enabled_ns stays 0
  std::uint64_t enabled_ns = 0;
  std::uint64_t missed_ns = 0;  // enabled, but other events held the counters
  std::array<std::uint64_t, kMostRegionEvents> values;  // as many as there are events
};

// Counters of the calling thread, running from open() on.
class ThreadCounters {
 public:
  // Leaves a quarter of the file descriptors to the program: Error::code is EMFILE then.
  static Result<ThreadCounters> open(std::span<const NativeEvent> events, bool user_only);

  // False when the kernel gave nothing; `edge.counted` says the same.
  bool read(Edge& edge) {
    edge.counted = user_space_ ? (read_in_user_space(edge) || read_group(edge)) : read_group(edge);
    return edge.counted;
  }
  [[nodiscard]] bool user_space() const { return user_space_; }
  // Somebody shares the counters: pages then only cost time.
  void stop_user_space() { user_space_ = false; }
  // In a child made by fork(): the mappings stayed in the parent, and the descriptors are copies.
  void forget_mappings();

 private:
  explicit ThreadCounters(Group group) : group_(std::move(group)) {}
  bool read_in_user_space(Edge& edge) const;
  bool read_group(Edge& edge);
  void map_pages();

  Group group_;
  std::vector<UserPage> pages_;  // one a member
  bool user_space_ = false;
  RawReading scratch_;
};

}  // namespace hwprof
