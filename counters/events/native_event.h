// One event as the kernel knows it: what every name becomes, whoever resolved it.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>

namespace hwprof {

// What perf_event_open needs to know of one event.
struct NativeEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  bool exclude_user = false, exclude_kernel = false;
  std::string text;  // "cpu/FP_ARITH_INST_RETIRED:SCALAR/ 0x3c7", for people

  // Same counter: text does not matter.
  [[nodiscard]] bool same_as(const NativeEvent& other) const {
    return type == other.type && config == other.config && config1 == other.config1 &&
           config2 == other.config2 && exclude_user == other.exclude_user &&
           exclude_kernel == other.exclude_kernel;
  }
  [[nodiscard]] bool is_software() const { return type == PERF_TYPE_SOFTWARE; }
};

}  // namespace hwprof
