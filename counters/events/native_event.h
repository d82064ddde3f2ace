// One event as the kernel knows it: what every name becomes, whoever resolved it.
#pragma once

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
  [[nodiscard]] bool same_as(const NativeEvent& other) const;
  [[nodiscard]] bool is_software() const;
};

}  // namespace hwprof
