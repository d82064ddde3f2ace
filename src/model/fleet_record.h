// The checks of many hosts, held against the list of those that there are and against each other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/model/check_record.h"

namespace hwprof::model {

// What is known of a host that was expected.
enum class HostState { kPass, kFail, kUnknown, kStale, kUnreadable, kNoRecord, kUnavailable };

template <>
struct EnumNames<HostState> {
  static constexpr EnumName<HostState> kAll[] = {
      {HostState::kPass, "pass", "its record of this run says so"},
      {HostState::kFail, "fail", "its record of this run says so"},
      {HostState::kUnknown, "unknown", "it has a record of this run, which could not tell"},
      {HostState::kStale, "stale", "it has records of other runs alone"},
      {HostState::kUnreadable, "unreadable", "its record cannot be read, or is of another schema"},
      {HostState::kNoRecord, "no_record", "nothing of it was found"},
      {HostState::kUnavailable, "unavailable",
       "nothing of it was found, and the list of hosts says why"},
  };
};

struct FleetHost {
  std::string host;
  HostState state = HostState::kNoRecord;
  std::string reason;                       // of what is no pass
  std::string fix;                          // a command, as a rule
  std::string file;                         // its record
  std::string run_id;                       // of that
  std::string verdict, cpu, library, core;  // library: "openblas 0.3.21"
  std::optional<double> gflops, peak_fraction, busy_fraction;
  std::string gflops_reason;  // why the first two are absent, of a host with a record of this run
  std::string bits;           // of results: equal where all bits are
  // The median of its group over its own rate, of an outlier.
  std::optional<double> times_slower;
  std::string kernel, microcode, microcode_reason, hwprof, ended_utc;
  std::vector<std::string> notes;  // what else is odd about it
};

// Hosts of one CPU model and one version of a library, which should be as fast as each other.
struct FleetGroup {
  std::string cpu, library;
  std::size_t hosts = 0;
  std::optional<double> gflops;        // median
  std::optional<double> limit_gflops;  // below it a host is an outlier
  std::string limit_reason;            // why there is none
  std::vector<std::string> outliers;
};

// Hosts of one CPU model whose results have the same bits.
struct FleetBits {
  std::string cpu, bits;
  std::string libraries;  // and core types: "openblas 0.3.21 Cooperlake"
  std::vector<std::string> hosts;
};

struct Fleet {
  std::string version;  // of hwprof
  std::string run_id, folder;
  std::string merged_utc;
  std::vector<FleetHost> hosts;         // in the order of the list
  std::vector<FleetGroup> groups;       // most hosts first
  std::vector<FleetBits> bits;          // of CPU models of which not all hosts have the same
  std::vector<std::string> unexpected;  // hosts with a record that the list does not have
  std::vector<std::string> foreign;     // files that are no records
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t count(HostState state) const;
};

// 0 all pass, 1 some fail, 3 of some it is not known.
int exit_code(const Fleet& fleet);

template <>
const Record& record<FleetHost>();
template <>
const Record& record<FleetGroup>();
template <>
const Record& record<FleetBits>();
template <>
const Record& record<Fleet>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::Fleet, model::FleetHost, model::FleetGroup, model::FleetBits, model::HostState;
}  // namespace hwprof::report
