// Events as data: what each portable name means on each core that people have, with the raw
// encoding, the weight, how the number lies, and the document that says so. Nothing here asks the
// machine: the table explains any CPU on any other.
//
// libpfm4 4.13 knows neither the newest CPUs nor which of its events answer a portable question;
// tests/event_table_test.cpp holds every row that it does know against its encoding.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/model/machine.h"

namespace hwprof {

using CoreSet = std::uint64_t;  // one bit a core of the vendor's part of the table

template <class... Cores>
constexpr CoreSet cores(Cores... core) {
  return ((CoreSet{1} << static_cast<unsigned>(core)) | ...);
}

// Which CPUs have which core. Two rows with the same models differ in the PMU of the hybrid.
struct CoreRow {
  unsigned core;          // its bit in CoreSet
  std::string_view name;  // "AMD Zen 4"
  Vendor vendor;
  unsigned family;  // arm64: implementer
  unsigned first_model, last_model;
  std::string_view pmu;     // PMU that the row is for; empty: whatever it is called
  std::string_view libpfm;  // what libpfm4 4.13 calls it; empty: it does not know it
  unsigned width;           // operations renamed a cycle: IPC above twice that cannot be
};

struct NativeTerm {
  std::string_view native;   // as libpfm4 spells it, without the PMU
  std::uint64_t config = 0;  // perf_event_attr.config on the core PMU
  double weight = 0;         // 0: no term
};

struct EventRow {
  CoreSet cores;
  std::string_view name;            // portable name
  std::string_view shown_as;        // name to print; empty: `name`, since it means the same here
  std::array<NativeTerm, 5> terms;  // none: this core has no such event, `meaning` says why
  std::string_view meaning;         // what is counted here, or why nothing is
  std::string_view caveat;          // how the number lies, or what to ask for instead
  std::string_view source;          // document; "[not verified]" where two of them disagree

  [[nodiscard]] bool is_of(const CoreRow& core) const {
    return (cores & hwprof::cores(core.core)) != 0;
  }
  [[nodiscard]] std::size_t term_count() const;
  [[nodiscard]] bool countable() const { return term_count() != 0; }
};

enum class PortableKind {
  kTable,     // an EventRow of the core, or nothing
  kHardware,  // PERF_TYPE_HARDWARE: exact on every CPU whose kernel driver has it
  kCache,     // PERF_TYPE_HW_CACHE
  kSoftware,  // PERF_TYPE_SOFTWARE
};

struct PortableEvent {
  std::string_view name;
  PortableKind kind;
  std::uint64_t config;   // of the kernel; 0 for kTable
  std::string_view unit;  // "1", "ns"
  bool must_rise;         // Trial::kEverything moves it: 0 means that it does not count
  bool in_kernel;         // happens inside the kernel: counts nothing in user-only mode
  std::string_view meaning;
  std::string_view caveat;
};

// A vendor's part of the table, which is all of one file: a CPU is added there, by a row of `cores`
// where it counts as one that is known, else with rows of its own. Apple's stand with Arm's.
struct EventTable {
  std::span<const CoreRow> cores;
  std::span<const EventRow> rows;
};
EventTable intel_table();
EventTable amd_table();
EventTable arm_table();
EventTable event_table(Vendor vendor);

std::span<const CoreRow> core_rows();  // of all vendors
std::span<const PortableEvent> portable_events();
std::vector<std::string_view> portable_names();

// `pmu`: name of the PMU device that counts for the CPU in question, or empty for "do not know":
// then the first row of the CPU, which is the big core of a hybrid. nullptr: not in the table.
const CoreRow* find_core(const CpuId& id, std::string_view pmu);
// Every kind of core that such a machine has, the big one first; more than one: a hybrid.
std::vector<const CoreRow*> core_kinds(const CpuId& id);
const EventRow* find_row(const CoreRow& core, std::string_view name);
const PortableEvent* find_portable(std::string_view name);

// "intel/6/143", as users name a CPU.
std::string format_cpu_id(const CpuId& id);
// The reverse, numbers also in hexadecimal: "arm/0x41/0xd0c". Fault::kUsage for a CPU that the
// table does not have, with the nearest that it has.
Result<CpuId> parse_cpu_id(std::string_view text);

}  // namespace hwprof
