// What a machine is, and what was counted on it, as plain structs. What finds it out stands in
// counters/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof {

using CpuList = std::vector<unsigned>;  // ascending, unique

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
};

// How a count came about. Everything but kOk and kScaled has no value, and a reason instead.
enum class CountStatus {
  kOk,           // counted the whole time
  kScaled,       // multiplexed: extrapolated by enabled/running, coverage < 1
  kNotCounted,   // opened, but never ran
  kUnsupported,  // this machine (or kernel) cannot count it
  kDenied,       // it could, but this user may not
};

// One requested event, as the report shows it.
struct EventCount {
  std::string name;             // as requested
  std::optional<double> value;  // events a call of the counted work
  std::optional<double> total;  // over all counted calls
  double calls = 0;             // how many calls were counted
  CountStatus status = CountStatus::kUnsupported;
  std::optional<double> coverage;  // share of the time in which it really counted
  std::string unit;                // "1" for counts, "ns" for clocks
  std::string event;               // the native event it became, with its encoding; may be empty
  std::string source;              // "kernel", "own table", "libpfm4 4.13", "raw"
  std::string reason;              // why there is no value, or what to know about it; may be empty
  std::string shown_as;            // name to print: not `name` where the event means another thing
  std::string implausible;         // why a value cannot be right, with the suspect; else empty
};

}  // namespace hwprof

namespace hwprof::model {

template <>
struct EnumNames<CountStatus> {
  static constexpr EnumName<CountStatus> kAll[] = {
      {CountStatus::kOk, "ok", "counted the whole time"},
      {CountStatus::kScaled, "scaled",
       "multiplexed, extrapolated; `coverage` is the share of the time in which it counted"},
      {CountStatus::kNotCounted, "not-counted", "opened, but never ran"},
      {CountStatus::kUnsupported, "unsupported", "this machine or kernel cannot count it"},
      {CountStatus::kDenied, "denied", "this user may not"},
  };
};

template <>
const Record& record<PmuDevice>();
template <>
const Record& record<PmuInfo>();
template <>
const Record& record<CacheLevel>();
template <>
const Record& record<Machine>();
template <>
const Record& record<EventCount>();

}  // namespace hwprof::model
