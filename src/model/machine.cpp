#include "src/model/machine.h"

namespace hwprof::model {
namespace {

bool pmu_is_present(const PmuInfo& pmu) { return pmu.present(); }
// They stand further to the right in CSV.
std::string event_column(const EventCount& count) { return count.event; }
std::string reason_column(const EventCount& count) { return count.reason; }

}  // namespace

template <>
const Record& record<PmuDevice>() {
  static constexpr Field kFields[] = {
      field<&PmuDevice::name>("name", "", "`cpu`; of a hybrid `cpu_core` and `cpu_atom`"),
      field<&PmuDevice::type>("type", "", "of perf_event_open"),
      field<&PmuDevice::cpus>("cpus", "", "that it covers; empty: all"),
  };
  static constexpr Record kRecord{"PMU", "One kind of core's counters.", kFields};
  return kRecord;
}

template <>
const Record& record<PmuInfo>() {
  static constexpr Field kFields[] = {
      computed<pmu_is_present>("present", "", "whether the machine shows one"),
      field<&PmuInfo::counters>("counters", "",
                                "general counters that one group can hold, found by opening them"),
      field<&PmuInfo::reason>("reason", "", "why there is none, or why the number is not known")
          .null_if_empty(),
      field<&PmuInfo::devices>("devices", "", ""),
  };
  static constexpr Record kRecord{"PMUs", "The performance monitoring units of the cores.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<CacheLevel>() {
  static constexpr Field kFields[] = {
      field<&CacheLevel::level>("level", "", "1, 2, 3; data or unified"),
      field<&CacheLevel::bytes>("bytes", "B", "of one instance"),
      field<&CacheLevel::shared_by>("shared_by", "", "CPUs that share an instance"),
  };
  static constexpr Record kRecord{"Cache", "", kFields};
  return kRecord;
}

template <>
const Record& record<Machine>() {
  static constexpr Field kFields[] = {
      field<&Machine::cpu_name>("cpu", "", "the CPU's name").column("cpu"),
      field<&Machine::isa>("isa", "", "instruction sets that matter for numeric code"),
      field<&Machine::virtualized>("virtualized", "", "whether it is a virtual machine"),
      field<&Machine::hypervisor>("hypervisor", "", "its vendor").null_if_empty(),
      field<&Machine::pmu>("pmu", "", ""),
      field<&Machine::perf_event_paranoid>("perf_event_paranoid", "",
                                           "null: the kernel has no perf_event"),
      field<&Machine::nmi_watchdog>("nmi_watchdog", "", "whether it holds a counter"),
      field<&Machine::kernel>("kernel", "", "`uname -r`"),
      field<&Machine::arch>("arch", "", "`uname -m`"),
      field<&Machine::id, &CpuId::family>("family", "", "CPUID's; on Arm the implementer"),
      field<&Machine::id, &CpuId::model>("model", "", "CPUID's; on Arm the part"),
      field<&Machine::id, &CpuId::stepping>("stepping", "", ""),
      field<&Machine::packages>("packages", "", "").null_if_empty(),
      field<&Machine::cores>("cores", "", "").null_if_empty(),
      field<&Machine::cpus>("cpus", "", "hardware threads").null_if_empty(),
      field<&Machine::memory_bytes>("memory_bytes", "B", "").null_if_empty(),
      field<&Machine::caches>("caches", "", ""),
  };
  static constexpr Record kRecord{"Machine", "What it was measured on.", kFields};
  return kRecord;
}

template <>
const Record& record<EventCount>() {
  static constexpr Field kFields[] = {
      field<&EventCount::value>("value", "", "events in one call; null: `reason`")
          .column("per_call")
          .with(Field::kUnitInColumn),
      field<&EventCount::status>("status", "", "how it came about").column("status"),
      field<&EventCount::coverage>("coverage", "", "share of the time in which it counted")
          .column("coverage"),
      field<&EventCount::event>("event", "", "the native event that the name became")
          .null_if_empty(),
      field<&EventCount::reason>("reason", "",
                                 "why there is no value and what would help, or what to know "
                                 "about it")
          .null_if_empty(),
      field<&EventCount::unit>("unit", "", "`1` or `ns`"),
      field<&EventCount::total>("total", "", "over all counted calls")
          .column("total")
          .with(Field::kUnitInColumn),
      field<&EventCount::calls>("calls", "", "that were counted").whole().column("calls"),
      only_in_csv<event_column>("event"),
      field<&EventCount::source>("source", "",
                                 "who knew the event: own table, kernel, libpfm4, raw")
          .null_if_empty()
          .column("source"),
      only_in_csv<reason_column>("reason"),
      field<&EventCount::shown_as>("shown_as", "", "its name where it means another thing here")
          .null_if_empty()
          .column("shown_as"),
      field<&EventCount::implausible>("implausible", "",
                                      "why the value cannot be right, with the known suspect")
          .null_if_empty()
          .column("implausible"),
  };
  static constexpr Record kRecord{"Count", "Of one event.", kFields};
  return kRecord;
}

}  // namespace hwprof::model
