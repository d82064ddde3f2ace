#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/inspect/doctor_checks.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct DoctorOptions {
  CpuList pin;                    // empty: the CPUs that the process may use
  std::vector<std::string> only;  // checks; empty: all
  Output output;
};

// The findings of the checks that were asked for.
Result<std::vector<report::Finding>> chosen(std::vector<report::Finding> findings,
                                            const std::vector<std::string>& only) {
  if (only.empty()) return findings;
  std::vector<std::string> names;
  for (const report::Finding& finding : findings) names.push_back(finding.name);
  for (const std::string& name : only) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return usage_error(fmt::format("--only: there is no check '{}'", name),
                       fmt::format("the checks are {}", fmt::join(names, ", ")));
  }
  const auto left_out = [&only](const report::Finding& finding) {
    return std::find(only.begin(), only.end(), finding.name) == only.end();
  };
  findings.erase(std::remove_if(findings.begin(), findings.end(), left_out), findings.end());
  return findings;
}

Result<int> run_doctor(const DoctorOptions& options) {
  TRY(report::check_outputs(options.output));
  if (!options.pin.empty()) TRY(pin_to(options.pin));
  const bool all = options.only.empty();
  TRY(const DoctorFacts facts,
      gather_facts(all || std::find(options.only.begin(), options.only.end(), "blas") !=
                              options.only.end()));
  TRY(const auto findings, chosen(examine(facts), options.only));
  const report::Doctor doctor{HWPROF_VERSION, facts.machine, facts.cpus, findings};
  TRY(report::write_report(doctor, {report::doctor_document, report::doctor_json}, options.output));
  return doctor.clean() ? 0 : 1;
}

// Which checks there are does not depend on the facts.
std::vector<cli::Candidate> check_candidates() {
  std::vector<cli::Candidate> all;
  for (const report::Finding& finding : examine({})) all.push_back({finding.name, ""});
  return all;
}

}  // namespace

cli::Action doctor_command(cli::Options& options) {
  auto to = std::make_shared<DoctorOptions>();
  cli::pin(options, to->pin,
           "Judge these CPUs, as in 0 or 0,2-3. Default: all that hwprof may use.");
  options
      .value("--only", "CHECKS", to->only, cli::parse_list,
             "Judge these checks only, as in blas,environment. Default: all.")
      .completes(check_candidates);
  cli::output(options, to->output,
              {Format::kText, Format::kJson, Format::kMarkdown, Format::kHtml});
  options.footer("Exit codes: 0 nothing to fix, 1 something to fix, 2 wrong usage.");
  return [to](const cli::CommandLine&) { return run_doctor(*to); };
}

}  // namespace hwprof
