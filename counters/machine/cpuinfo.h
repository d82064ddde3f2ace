// What /proc/cpuinfo, CPUID and the firmware's strings say, as pure functions of their text: tests
// feed them machines that nobody here owns. Internal to counters/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/machine.h"

namespace hwprof {

struct CpuInfo {
  std::string name;  // empty: the text does not say
  CpuId id;
  std::vector<std::string> isa;  // as Machine::isa
  bool hypervisor_flag = false;  // x86 only: CPUID.1:ECX.31
};

// The entry of `cpu`; on big.LITTLE machines each has its own part. The first entry when `cpu` has
// none.
CpuInfo parse_cpuinfo(std::string_view text, unsigned cpu);

// CPUID leaf 0x40000000, twelve letters -> "KVM"; the letters themselves when not in the table.
std::string hypervisor_name(std::string_view signature);

// Virtual machine known by its firmware's strings (the only sign on arm64): "QEMU", "Amazon EC2".
// Absent on hardware, bare-metal cloud machines included.
std::optional<std::string> hypervisor_from_dmi(std::string_view vendor, std::string_view product);

// Twelve letters of CPUID leaf 0x40000000; empty where there is no such leaf.
std::string hypervisor_signature();

}  // namespace hwprof
