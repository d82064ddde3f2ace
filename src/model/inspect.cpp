#include "src/model/inspect.h"

namespace hwprof::model {
namespace {

bool doctor_is_clean(const Doctor& doctor) { return doctor.clean(); }

}  // namespace

template <>
const Record& record<Finding>() {
  static constexpr Field kFields[] = {
      field<&Finding::name>("name", "", "of the check: `paranoid`"),
      field<&Finding::state>("state", "", ""),
      field<&Finding::finding>("finding", "", "what was found"),
      field<&Finding::consequence>("consequence", "", "what it does to the numbers")
          .null_if_empty(),
      field<&Finding::remedy>("remedy", "",
                              "the command that fixes it; never null where `state` is `mend`")
          .null_if_empty(),
  };
  static constexpr Record kRecord{"Finding", "Of one check.", kFields};
  return kRecord;
}

template <>
const Record& record<Doctor>() {
  static constexpr Field kFields[] = {
      field<&Doctor::version>("hwprof.version", "", "of hwprof"),
      field<&Doctor::machine, &Machine::cpu_name>("cpu", "", "the CPU's name"),
      field<&Doctor::machine, &Machine::kernel>("kernel", "", "`uname -r`"),
      field<&Doctor::machine, &Machine::virtualized>("virtualized", "", ""),
      field<&Doctor::cpus>("cpus", "", "that were judged"),
      computed<doctor_is_clean>("clean", "", "nothing to fix: exit code 0"),
      field<&Doctor::findings>("checks", "", ""),
  };
  static constexpr Record kRecord{"Doctor", "What stands between this machine and good numbers.",
                                  kFields, "hwprof.doctor/1"};
  return kRecord;
}

template <>
const Record& record<PeakReport>() {
  static constexpr Field kFields[] = {
      field<&PeakReport::version>("hwprof.version", "", "of hwprof"),
      field<&PeakReport::machine, &Machine::cpu_name>("cpu", "", "the CPU's name"),
      field<&PeakReport::machine, &Machine::isa>("isa", "", ""),
      field<&PeakReport::pinned>("pin.requested", "", "CPUs of `--pin`"),
      field<&PeakReport::cpus>("pin.actual", "", "CPUs that were used"),
      field<&PeakReport::peak, &Peak::threads>("threads", "", ""),
      field<&PeakReport::peak>("peak", "", ""),
  };
  static constexpr Record kRecord{"PeakReport", "The FMA peak and the bandwidth of each level.",
                                  kFields, "hwprof.peak/1"};
  return kRecord;
}

template <>
const Record& record<BlasSurvey>() {
  static constexpr Field kFields[] = {
      field<&BlasSurvey::version>("hwprof.version", "", "of hwprof"),
      field<&BlasSurvey::machine, &Machine::cpu_name>("cpu", "", "the CPU's name"),
      field<&BlasSurvey::machine, &Machine::isa>("isa", "", ""),
      spliced<&BlasSurvey::blas>(),
      field<&BlasSurvey::libraries>("libraries", "", "installed, fastest first"),
      field<&BlasSurvey::notes>("notes", "", ""),
  };
  static constexpr Record kRecord{"BlasSurvey",
                                  "Every BLAS of the machine, and the one that programs get.",
                                  kFields, "hwprof.blas/1"};
  return kRecord;
}

}  // namespace hwprof::model
