#include "counters/events/native_event.h"

#include <linux/perf_event.h>

namespace hwprof {

bool NativeEvent::same_as(const NativeEvent& other) const {
  return type == other.type && config == other.config && config1 == other.config1 &&
         config2 == other.config2 && exclude_user == other.exclude_user &&
         exclude_kernel == other.exclude_kernel;
}

bool NativeEvent::is_software() const { return type == PERF_TYPE_SOFTWARE; }

}  // namespace hwprof
