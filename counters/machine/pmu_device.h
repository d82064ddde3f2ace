// Event sources as the kernel shows them under /sys/bus/event_source/devices: which of them count
// for a core, and how the fields of an event ("event", "umask") are laid out in its attribute.
// All take the folder, so that tests can hand them a tree of their own. Internal to counters/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/model/machine.h"

namespace hwprof {

inline constexpr const char* kEventSources = "/sys/bus/event_source/devices";

// cpu, cpu_core, cpu_atom, armv8_pmuv3_0, apple_firestorm_pmu, ...: not uncore, not software.
bool is_core_pmu_name(std::string_view name);

std::vector<PmuDevice> read_core_pmus(const std::filesystem::path& devices);

struct SysfsEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  bool per_package = false;  // the device has a cpumask: it counts for many cores at once
};

// "event=0xc7,umask=0x80,cmask=1" through the format files of `pmu`. Fault::kUsage for an unknown
// field (with the known ones), a value that does not fit it, or an unknown PMU.
Result<SysfsEvent> encode_sysfs_event(const std::filesystem::path& devices, std::string_view pmu,
                                      std::string_view fields);

// Does the CPU say that it has this event? Arm's drivers show exactly those architectural events
// that the CPU's PMCEID registers name (drivers/perf/arm_pmuv3.c, armv8pmu_event_attr_is_visible);
// other events open all the same, and read 0 for ever. Absent: this PMU gives no full list.
std::optional<bool> cpu_names_event(const std::filesystem::path& devices, std::string_view pmu,
                                    std::uint64_t config);

}  // namespace hwprof
