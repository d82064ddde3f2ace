// What the events of one CPU count, held against the exact counts of known loops and kernels:
// `hwprof events --calibrate`, and the file that it keeps (hwprof.calibration/1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

enum class Calibrated { kAbsent, kExact, kOff };

// One event over one known piece of work.
struct CalibratedCount {
  std::string work;                      // "FMA, 256-bit float"
  std::optional<double> exact, counted;  // of the same work
  std::optional<double> ratio;           // counted / exact; absent also where nothing was to count
};

struct CalibratedEvent {
  std::string name;    // "flops"
  std::string native;  // what it became here
  Calibrated verdict = Calibrated::kAbsent;
  std::optional<double> lowest, highest;  // ratio
  std::string reason;                     // of kAbsent
  std::vector<CalibratedCount> counts;
};

// What a calibration holds for: another microcode or kernel may count otherwise.
struct CalibrationKey {
  std::string cpu_id;     // "amd/26/2"
  std::string pmu;        // "cpu", "cpu_atom": the kind of core
  std::string microcode;  // as /proc/cpuinfo has it
  std::string kernel;     // uname -r

  bool operator==(const CalibrationKey&) const = default;
};

struct Calibration {
  std::string version;  // of hwprof
  std::string calibrated_utc;
  std::string cpu_name;
  CalibrationKey key;
  std::string reason;   // why nothing was calibrated; else empty
  std::string kept_in;  // a file; empty: `not_kept` says why
  std::string not_kept;
  std::vector<CalibratedEvent> events;
};

template <>
struct EnumNames<Calibrated> {
  static constexpr EnumName<Calibrated> kAll[] = {
      {Calibrated::kAbsent, "absent", "there is no count to hold against the exact one"},
      {Calibrated::kExact, "exact", "within 1 % of the exact count, over every piece of work"},
      {Calibrated::kOff, "off", "not what its name says, over some of the work"},
  };
};

template <>
const Record& record<CalibratedCount>();
template <>
const Record& record<CalibratedEvent>();
template <>
const Record& record<CalibrationKey>();
template <>
const Record& record<Calibration>();

}  // namespace hwprof::model
