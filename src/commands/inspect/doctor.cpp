#include <memory>

#include "src/cli/groups.h"
#include "src/commands/commands.h"
#include "src/commands/inspect/doctor_checks.h"
#include "src/commands/inspect/doctor_facts.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct DoctorOptions {
  CpuList pin;  // empty: the CPUs that the process may use
  Output output;
};

Result<int> run_doctor(const DoctorOptions& options) {
  if (!options.pin.empty()) TRY(pin_to(options.pin));
  TRY(const DoctorFacts facts, gather_facts());
  const report::Doctor doctor{HWPROF_VERSION, facts.machine, facts.cpus, examine(facts)};
  TRY(report::write_report(doctor, {report::doctor_document, report::doctor_json}, options.output));
  return doctor.clean() ? 0 : 1;
}

}  // namespace

cli::Action doctor_command(cli::Options& options) {
  auto to = std::make_shared<DoctorOptions>();
  cli::pin(options, to->pin,
           "Judge these CPUs, as in 0 or 0,2-3. Default: all that hwprof may use.");
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kMarkdown});
  options.footer("Exit codes: 0 nothing to fix, 1 something to fix, 2 wrong usage.");
  return [to](const cli::CommandLine&) { return run_doctor(*to); };
}

}  // namespace hwprof
