#include "src/model/fleet_record.h"

#include <algorithm>

namespace hwprof::model {
namespace {

template <HostState kState>
std::size_t hosts_of(const Fleet& fleet) {
  return fleet.count(kState);
}

int exit_of(const Fleet& fleet) { return exit_code(fleet); }

}  // namespace

std::size_t Fleet::count(HostState state) const {
  return static_cast<std::size_t>(std::count_if(
      hosts.begin(), hosts.end(), [state](const FleetHost& host) { return host.state == state; }));
}

int exit_code(const Fleet& fleet) {
  if (fleet.count(HostState::kFail) > 0) return 1;
  return fleet.count(HostState::kPass) == fleet.hosts.size() && !fleet.hosts.empty() ? 0 : 3;
}

template <>
const Record& record<FleetHost>() {
  static constexpr Field kFields[] = {
      field<&FleetHost::host>("host", "", "as the list has it").column("host"),
      field<&FleetHost::state>("state", "", "").column("state"),
      field<&FleetHost::reason>("reason", "", "why it is no pass").null_if_empty().column("reason"),
      field<&FleetHost::fix>("fix", "", "what to do about it: a command, as a rule")
          .null_if_empty()
          .column("fix"),
      field<&FleetHost::file>("file", "", "its record, in `folder`").null_if_empty().column("file"),
      field<&FleetHost::run_id>("run_id", "", "of that").null_if_empty().column("run_id"),
      field<&FleetHost::verdict>("verdict", "", "").null_if_empty().column("verdict"),
      field<&FleetHost::cpu>("cpu", "", "the CPU's name").null_if_empty().column("cpu"),
      field<&FleetHost::library>("library", "", "and its version")
          .null_if_empty()
          .column("library"),
      field<&FleetHost::core>("core", "", "core type that it chose").null_if_empty().column("core"),
      field<&FleetHost::gflops>("gflops", "GFLOP/s", "sgemm on one core").column("gflops"),
      field<&FleetHost::peak_fraction>("peak_fraction", "", "").column("peak_fraction"),
      field<&FleetHost::gflops_reason>("gflops_reason", "",
                                       "why these are absent, of a host with a record of this run")
          .null_if_empty(),
      field<&FleetHost::times_slower>("times_slower", "",
                                      "of an outlier: the median of its group over its own rate")
          .column("times_slower"),
      field<&FleetHost::busy_fraction>("busy_fraction", "", "of its CPUs, by others meanwhile")
          .column("busy_fraction"),
      field<&FleetHost::bits>("bits", "", "of its results: equal where all bits are")
          .null_if_empty()
          .column("bits"),
      field<&FleetHost::kernel>("kernel", "", "`uname -r`").null_if_empty().column("kernel"),
      field<&FleetHost::microcode>("microcode", "", "").null_if_empty().column("microcode"),
      field<&FleetHost::microcode_reason>("microcode_reason", "", "why it is absent")
          .null_if_empty(),
      field<&FleetHost::hwprof>("hwprof", "", "version that wrote the record")
          .null_if_empty()
          .column("hwprof"),
      field<&FleetHost::ended_utc>("ended_utc", "", "by the host's own clock")
          .null_if_empty()
          .column("ended_utc"),
      field<&FleetHost::notes>("notes", "", "what else is odd about it"),
  };
  static constexpr Record kRecord{"FleetHost", "One host of the list.", kFields};
  return kRecord;
}

template <>
const Record& record<FleetGroup>() {
  static constexpr Field kFields[] = {
      field<&FleetGroup::cpu>("cpu", "", "the CPU's name"),
      field<&FleetGroup::library>("library", "", "and its version"),
      field<&FleetGroup::hosts>("hosts", "", "with a record of this run"),
      field<&FleetGroup::gflops>("gflops", "GFLOP/s", "the median"),
      field<&FleetGroup::limit_gflops>("limit_gflops", "GFLOP/s", "below it, a host is an outlier"),
      field<&FleetGroup::limit_reason>("limit_reason", "", "why there is none").null_if_empty(),
      field<&FleetGroup::outliers>("outliers", "", "hosts, slowest first"),
  };
  static constexpr Record kRecord{"FleetGroup",
                                  "Hosts of one CPU model and one version of a library.", kFields};
  return kRecord;
}

template <>
const Record& record<FleetBits>() {
  static constexpr Field kFields[] = {
      field<&FleetBits::cpu>("cpu", "", "the CPU's name"),
      field<&FleetBits::bits>("bits", "", ""),
      field<&FleetBits::libraries>("libraries", "", "and their core types"),
      field<&FleetBits::hosts>("hosts", "", ""),
  };
  static constexpr Record kRecord{"FleetBits", "Hosts whose results have the same bits.", kFields};
  return kRecord;
}

template <>
const Record& record<Fleet>() {
  using enum HostState;
  static constexpr Field kFields[] = {
      field<&Fleet::version>("hwprof.version", "", "of hwprof"),
      field<&Fleet::run_id>("run_id", "", "of the records that count"),
      field<&Fleet::folder>("folder", "", "that they lie in"),
      field<&Fleet::merged_utc>("merged_utc", "", ""),
      computed<exit_of>("exit", "", "0 all pass, 1 some fail, 3 of some it is not known"),
      computed<hosts_of<kPass>>("counts.pass", "", "hosts"),
      computed<hosts_of<kFail>>("counts.fail", "", ""),
      computed<hosts_of<kUnknown>>("counts.unknown", "", ""),
      computed<hosts_of<kStale>>("counts.stale", "", ""),
      computed<hosts_of<kUnreadable>>("counts.unreadable", "", ""),
      computed<hosts_of<kNoRecord>>("counts.no_record", "", ""),
      computed<hosts_of<kUnavailable>>("counts.unavailable", "", ""),
      field<&Fleet::hosts>("hosts", "", "each of the list once, in its order"),
      field<&Fleet::groups>("groups", "", "most hosts first"),
      field<&Fleet::bits>("bits", "",
                          "of each CPU model of which not all hosts have results of the same bits"),
      field<&Fleet::unexpected>("unexpected", "", "hosts with a record that the list has not"),
      field<&Fleet::foreign>("foreign", "", "files of the folder that are no records"),
      field<&Fleet::notes>("notes", "", ""),
  };
  static constexpr Record kRecord{"Fleet", "The checks of many hosts.", kFields, "hwprof.fleet/1"};
  return kRecord;
}

}  // namespace hwprof::model
