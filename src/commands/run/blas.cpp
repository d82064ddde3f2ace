#include "src/commands/run/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "src/blas/evidence/installed.h"
#include "src/blas/ladder/ladder.h"
#include "src/cli/groups.h"
#include "src/commands/commands.h"
#include "src/commands/loaded_blas.h"
#include "src/commands/run/observe.h"
#include "src/report/documents/documents.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct BlasOptions {
  std::vector<std::string> paths;  // libraries to measure beside those that are installed
  bool quick = false;              // within a second
  Output output;
  RunOptions run;  // where run.request.command is not empty: the BLAS of that command instead
};

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// The ladder, which decides, gets what the survey has left over of `all`, which leaves time to
// print within the 3 s of --quick.
struct Budgets {
  milliseconds all, survey, longest_child;
};
constexpr Budgets kQuick{milliseconds(850), milliseconds(250), milliseconds(120)};
constexpr Budgets kFull{milliseconds(23000), milliseconds(20000), milliseconds(2000)};

constexpr int kUnknownExit = 3, kCommandFailedExit = 4;

double seconds_until(Clock::time_point deadline) {
  return std::max(0.0, std::chrono::duration<double>(deadline - Clock::now()).count());
}

Result<std::vector<report::InstalledBlas>> libraries_to_measure(
    const std::vector<std::string>& paths) {
  std::vector<report::InstalledBlas> libraries = blas::installed_blas();
  for (const std::string& given : paths) {
    std::error_code error;
    const std::string path = std::filesystem::canonical(given, error);
    if (error) {
      return usage_error(fmt::format("cannot find the library {}: {}", given, error.message()));
    }
    auto library = blas::installed_at(path, "given");
    if (!library) {
      return usage_error(fmt::format("{} is no BLAS", given),
                         "a shared library of this machine's kind that has an sgemm_ is needed");
    }
    const bool known = std::any_of(libraries.begin(), libraries.end(),
                                   [&](const auto& library) { return library.path == path; });
    if (!known) libraries.push_back(*std::move(library));
  }
  return libraries;
}

// One number a fact: what the ladder measured too, oftener, is that of the ladder.
void take_over(const report::ProfileBlas& blas, std::vector<report::SurveyedBlas>& libraries) {
  for (report::SurveyedBlas& library : libraries) {
    library.is_default = library.path == blas.path;
    for (const report::LadderRung& rung : blas.ladder) {
      const bool same = rung.as_found || (rung.setting == "auto" && blas.environment.empty());
      if (!same || rung.library != library.path || !rung.gflops) continue;
      library.sgemm_gflops = rung.gflops;
      library.sgemm_peak_fraction = rung.peak_fraction;
      break;
    }
  }
  std::stable_sort(libraries.begin(), libraries.end(), [](const auto& a, const auto& b) {
    return a.sgemm_peak_fraction.value_or(-1) > b.sgemm_peak_fraction.value_or(-1);
  });
}

int exit_code(report::VerdictKind verdict) {
  if (verdict == report::VerdictKind::kOptimal) return 0;
  return verdict == report::VerdictKind::kInconclusive ? kUnknownExit : 1;
}

Result<int> conclude_blas(const report::Run& record, const RunOptions& /*options*/) {
  if (!record.not_run.empty()) return kUnknownExit;
  // A command that failed may have done so before its first call.
  return record.exit == 0 ? exit_code(record.blas.verdict) : kCommandFailedExit;
}

// 0 optimal, 1 not, 3 inconclusive, 4 the command failed.
Result<int> run_blas(const BlasOptions& options) {
  if (!options.run.request.command.empty()) {
    // The verdict alone. Standard output is the command's.
    return observe_apart(options.run, report::verdict_document, false, conclude_blas);
  }
  TRY(report::check_outputs(options.output));
  TRY(const report::BlasSurvey record, survey_blas(options.paths, options.quick));
  TRY(report::write_report(record, {report::survey_document, report::survey_json}, options.output));
  return exit_code(record.blas.verdict);
}

}  // namespace

Result<report::BlasSurvey> survey_blas(const std::vector<std::string>& paths, bool quick) {
  const Budgets& budgets = quick ? kQuick : kFull;
  const auto deadline = Clock::now() + budgets.all;
  TRY(const auto libraries, libraries_to_measure(paths));

  report::BlasSurvey record;
  record.version = HWPROF_VERSION;
  const CpuList cpus = allowed_cpus();
  record.machine = probe_machine(cpus.front());
  TRY(const auto loaded, load_blas("", static_cast<int>(cpus.size())));
  // A child each, before the ladder: it sets the libraries that it compares beside the default.
  record.libraries =
      blas::survey(libraries, {.budget = budgets.survey, .longest_child = budgets.longest_child});
  record.blas = judge_blas(
      loaded, record.machine,
      {.requested = "", .ladder = true, .ladder_seconds = seconds_until(deadline), .cpus = cpus});
  take_over(record.blas, record.libraries);
  record.notes = {
      "* is what programs get; one thread, square matrices, a child process each; the peak is that "
      "of float32 FMA on the same core, for dgemm half of it"};
  return record;
}

cli::Action blas_command(cli::Options& options) {
  auto to = std::make_shared<BlasOptions>();
  options.words("paths", "[PATH...]", to->paths,
                "Measure these libraries too. Default: all that the loader cache, the "
                "alternatives and LD_LIBRARY_PATH know.");
  options.group(cli::kBudget);
  options.flag("--quick", to->quick,
               "End within a second, with fewer core types measured. Default: measure all.");
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kMarkdown, Format::kHtml},
              "standard output; with a command, whose that is, standard error");
  options.footer(
      "hwprof blas -- COMMAND ARGS: the verdict on the BLAS that the command uses,\n"
      "instead of what is installed.\n"
      "\nThe first line is for other programs:\n"
      "verdict=optimal provider=openblas core=Zen gflops=61.3 peak_fraction=0.87\n"
      "\nExit codes: 0 optimal, 1 not, 2 wrong usage, 3 unknown (inconclusive, or the\n"
      "command could not be started), 4 the command failed.");
  return [to](const cli::CommandLine& line) -> Result<int> {
    to->run.output = to->output;
    to->run.request.command = line.command;
    to->run.request.ladder = !to->quick;
    if (!line.command.empty() && !to->paths.empty()) {
      return usage_error("libraries and a command exclude each other",
                         "hwprof blas [PATH...], or hwprof blas -- COMMAND ARGS");
    }
    return run_blas(*to);
  };
}

}  // namespace hwprof
