#include "src/commands/doctor.h"

#include "src/commands/doctor_checks.h"
#include "src/commands/doctor_facts.h"
#include "src/report/render/write_report.h"

namespace hwprof {

Result<int> run_doctor(const DoctorOptions& options) {
  if (!options.pin.empty()) {
    if (auto done = pin_to(options.pin); !done) return error_of(done);
  }
  const Result<DoctorFacts> facts = gather_facts();
  if (!facts) return error_of(facts);
  const report::Doctor doctor{HWPROF_VERSION, facts->machine, facts->cpus, examine(*facts)};
  const auto printed =
      report::write_report(doctor, {report::doctor_document, report::doctor_json}, options.output);
  if (!printed) return error_of(printed);
  return doctor.clean() ? 0 : 1;
}

}  // namespace hwprof
