// A ring into which the kernel writes records of one CPU, mapped: the thin shell around
// parse_ring().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/perf/records.h"

namespace hwprof::observe {

class Ring {
 public:
  // Maps up to 512 KiB: what kernel.perf_event_mlock_kb lets an ordinary user have on each CPU;
  // less where other rings of that user have taken some of it.
  static Result<Ring> map(UniqueFd event);
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&&) = delete;
  Ring(const Ring&) = delete;
  ~Ring();

  [[nodiscard]] int descriptor() const { return event_.get(); }
  // What came since the last call.
  RingContent take(bool with_callchain);

  static constexpr std::size_t kBytes = 512U << 10U;

 private:
  Ring(UniqueFd event, void* memory, std::size_t page_bytes, std::size_t data_bytes);

  UniqueFd event_;
  void* memory_;
  std::size_t page_bytes_, data_bytes_;
};

}  // namespace hwprof::observe
