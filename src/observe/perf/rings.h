// The rings of one session, one a CPU (an inherited event may have a ring only when it is bound to
// one): the events of all observed threads write into them, and their records come out in the order
// of time.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/perf/records.h"

namespace hwprof::observe {

// What all events have in common: records with their times, of a thread and all that it starts.
// Disabled at first; `on_exec`: until its execve.
perf_event_attr tree_event(std::uint64_t sample_type, bool on_exec);
// The event tells also of mappings, names, forks and exits.
void add_task_records(perf_event_attr& attr);

// What to say where the kernel refuses an event, by errno.
using Refused = std::function<tl::unexpected<Error>(int code)>;

class Rings {
 public:
  // What kernel.perf_event_mlock_kb lets an ordinary user have on each CPU.
  static constexpr std::size_t kBytes = 512U << 10U;

  // Rings of up to so many bytes, a power of two; smaller where the user's other rings have taken
  // some of what is allowed. A wake-up comes with a half-full ring: one for each record costs the
  // program 30 us. An event may ask for that (wakeup_events).
  explicit Rings(std::size_t bytes = kBytes) : bytes_(bytes) {}
  Rings(Rings&&) = default;
  Rings& operator=(Rings&&) = default;

  // The first event, of one thread, with a ring on every CPU that is online.
  Result<void> open(perf_event_attr attr, pid_t tid, const Refused& refused);
  // Another event or thread: one descriptor a ring, less where the thread has ended.
  Result<std::vector<UniqueFd>> add(perf_event_attr attr, pid_t tid, const Refused& refused) const;
  void enable() const;   // of the first event
  void disable() const;  // of the first event

  [[nodiscard]] std::size_t size() const { return rings_.size(); }
  [[nodiscard]] std::vector<int> descriptors() const;  // readable when a ring is half full
  // What has come since the last call: in the order of time within each CPU alone. Valid until the
  // next call of anything.
  std::span<const Record> read();
  // What was read, in the order of time: as much as no ring can still add to, or all.
  std::vector<Record> in_order(bool all);
  [[nodiscard]] bool broken() const { return broken_; }  // some records could not be read

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(void* memory) const;
  };
  struct Ring {
    UniqueFd event;
    unsigned cpu = 0;
    std::unique_ptr<void, Unmap> memory;
  };
  Result<void> map(UniqueFd event, unsigned cpu);
  void take(const Ring& ring);

  std::size_t bytes_;
  std::uint64_t sample_type_ = 0, registers_ = 0;
  std::vector<Ring> rings_;
  std::vector<Record> waiting_;  // not yet in order: another ring may hold older ones
  std::uint64_t newest_ns_ = 0, settled_ns_ = 0;
  bool broken_ = false;
};

}  // namespace hwprof::observe
