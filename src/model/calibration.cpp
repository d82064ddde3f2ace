#include "src/model/calibration.h"

namespace hwprof::model {

template <>
const Record& record<CalibratedCount>() {
  static constexpr Field kFields[] = {
      field<&CalibratedCount::work>("work", "", "the loop or kernel"),
      field<&CalibratedCount::exact>("exact", "", "by src/exact"),
      field<&CalibratedCount::counted>("counted", "", "by the event; median of five runs"),
      field<&CalibratedCount::ratio>("ratio", "",
                                     "counted / exact; null: no count, or none to be expected"),
  };
  static constexpr Record kRecord{"CalibratedCount", "One event over one piece of work.", kFields};
  return kRecord;
}

template <>
const Record& record<CalibratedEvent>() {
  static constexpr Field kFields[] = {
      field<&CalibratedEvent::name>("name", "", "portable name"),
      field<&CalibratedEvent::native>("event", "", "native events in words").null_if_empty(),
      field<&CalibratedEvent::verdict>("verdict", "", ""),
      field<&CalibratedEvent::lowest>("ratio_low", "", "smallest ratio of all work"),
      field<&CalibratedEvent::highest>("ratio_high", "", "largest ratio of all work"),
      field<&CalibratedEvent::reason>("reason", "", "why it is absent").null_if_empty(),
      field<&CalibratedEvent::counts>("counts", "", ""),
  };
  static constexpr Record kRecord{"CalibratedEvent", "Held against exact counts.", kFields};
  return kRecord;
}

template <>
const Record& record<CalibrationKey>() {
  static constexpr Field kFields[] = {
      field<&CalibrationKey::cpu_id>("cpu_id", "", "`vendor/family/model` in decimal"),
      field<&CalibrationKey::pmu>("pmu", "", "of the kind of core; null: there is none")
          .null_if_empty(),
      field<&CalibrationKey::microcode>("microcode", "", "as /proc/cpuinfo has it").null_if_empty(),
      field<&CalibrationKey::kernel>("kernel", "", "`uname -r`"),
  };
  static constexpr Record kRecord{"CalibrationKey", "The machine that it holds for.", kFields};
  return kRecord;
}

template <>
const Record& record<Calibration>() {
  static constexpr Field kFields[] = {
      field<&Calibration::version>("hwprof.version", "", "of hwprof"),
      field<&Calibration::calibrated_utc>("calibrated_utc", "", ""),
      field<&Calibration::cpu_name>("cpu_name", "", ""),
      field<&Calibration::key>("key", "", ""),
      field<&Calibration::reason>("reason", "", "why nothing was calibrated").null_if_empty(),
      field<&Calibration::kept_in>("kept_in", "", "null: `not_kept` says why").null_if_empty(),
      field<&Calibration::not_kept>("not_kept", "", "").null_if_empty(),
      field<&Calibration::events>("events", "", "empty where nothing was calibrated"),
  };
  static constexpr Record kRecord{"Calibration", "What events count, held against exact counts.",
                                  kFields, "hwprof.calibration/1"};
  return kRecord;
}

}  // namespace hwprof::model
