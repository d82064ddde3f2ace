// What this machine is: probed once, passed on as a plain struct. Nothing here measures speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hwprof {

enum class Vendor { kIntel, kAmd, kArm, kApple, kOther };

// x86: CPUID display family and model. arm64: implementer and part of MIDR_EL1, as in
// /proc/cpuinfo ("CPU implementer", "CPU part").
struct CpuId {
  Vendor vendor = Vendor::kOther;
  unsigned family = 0;
  unsigned model = 0;
  unsigned stepping = 0;
};

struct CacheLevel {
  int level = 0;            // 1, 2, 3; data or unified
  std::uint64_t bytes = 0;  // of one instance
  unsigned shared_by = 1;   // CPUs that share the instance
};

// One core PMU as the kernel exposes it under /sys/bus/event_source/devices. A hybrid machine has
// one for each kind of core (cpu_core, cpu_atom), each with the CPUs that it covers.
struct PmuDevice {
  std::string name;
  std::uint32_t type = 0;      // perf_event_attr.type
  std::vector<unsigned> cpus;  // empty: all of them
};

struct PmuInfo {
  std::vector<PmuDevice> devices;    // core PMUs only; empty: no PMU
  std::optional<unsigned> counters;  // general counters that one group can hold, found by opening
  std::string reason;                // why there is none, or why the number is unknown

  [[nodiscard]] bool present() const { return !devices.empty(); }
  // The PMU that covers `cpu`, or nullptr.
  [[nodiscard]] const PmuDevice* for_cpu(unsigned cpu) const;
};

struct Machine {
  std::string cpu_name;
  std::string kernel;  // uname -r
  std::string arch;    // uname -m
  CpuId id;
  std::vector<std::string> isa;  // instruction sets that matter for numeric code, ascending
  std::vector<CacheLevel> caches;
  std::uint64_t memory_bytes = 0;
  unsigned packages = 0, cores = 0, cpus = 0;
  bool virtualized = false;
  std::string hypervisor;  // vendor, where it says so
  PmuInfo pmu;
  std::optional<int> perf_event_paranoid;  // absent: the kernel has no perf_event
  std::optional<bool> nmi_watchdog;

  [[nodiscard]] bool has_isa(const std::string& name) const;
};

// Probes the machine as seen from `cpu` (its caches, its kind of core). Never fails: what cannot
// be found out is absent.
Machine probe_machine(unsigned cpu);

}  // namespace hwprof
