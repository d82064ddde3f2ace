// A number that one thread writes and any may read. As std::atomic, but that its owner adds with
// no more than a load, an addition and a store. GCC 12 takes an instruction more for each access
// to an atomic on arm64, a tenth of an edge in all. Internal to counters/.
#pragma once

#include <cstdint>

#include "src/base/sanitized.h"

namespace hwprof {

class RegionNumber {
 public:
  RegionNumber(std::uint64_t value = 0) : value_(value) {}  // NOLINT: as an atomic, = 0
  RegionNumber(const RegionNumber&) = delete;
  RegionNumber& operator=(const RegionNumber&) = delete;
  std::uint64_t operator=(std::uint64_t value) {  // NOLINT: as an atomic
    __atomic_store_n(&value_, value, __ATOMIC_RELAXED);
    return value;
  }

  [[nodiscard]] std::uint64_t load() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  operator std::uint64_t() const { return load(); }  // NOLINT: as an atomic

  // By its owner. A volatile access to an aligned word is one access, as the kernel has its
  // WRITE_ONCE; no other thread writes in between.
  void add(std::uint64_t amount) {
#if HWPROF_SANITIZED
    *this = load() + amount;
#else
    volatile std::uint64_t& value = value_;
    value = value + amount;
#endif
  }

 private:
  alignas(8) std::uint64_t value_;
};

}  // namespace hwprof
