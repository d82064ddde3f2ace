#include "src/commands/blas.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "src/blas/ladder/survey.h"
#include "src/commands/observe.h"
#include "src/commands/profile_blas.h"
#include "src/commands/run.h"
#include "src/report/documents/survey.h"
#include "src/report/printable.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

using std::chrono::milliseconds;

using Clock = std::chrono::steady_clock;

// The ladder, which decides, gets what the survey has left over of `all`, which leaves time to
// print within the 3 s of --quick.
struct Budgets {
  milliseconds all, survey, longest_child;
};
constexpr Budgets kQuick{milliseconds(2600), milliseconds(1100), milliseconds(600)};
constexpr Budgets kFull{milliseconds(23000), milliseconds(20000), milliseconds(2000)};

double seconds_until(Clock::time_point deadline) {
  return std::max(0.0, std::chrono::duration<double>(deadline - Clock::now()).count());
}

Result<std::vector<blas::InstalledBlas>> libraries_to_measure(const BlasOptions& options) {
  std::vector<blas::InstalledBlas> libraries = blas::installed_blas();
  for (const std::string& given : options.paths) {
    std::error_code error;
    const std::string path = std::filesystem::canonical(given, error);
    if (error) {
      return usage_error(fmt::format("cannot find the library {}: {}", given, error.message()));
    }
    const auto file = blas::identify_file(path);
    if (!file) {
      return usage_error(fmt::format("{} is no BLAS", given),
                         "a shared library of this machine's kind that has an sgemm_ is needed");
    }
    const bool known = std::any_of(libraries.begin(), libraries.end(),
                                   [&](const auto& library) { return library.path == path; });
    if (!known) libraries.push_back({path, "given", *file, ""});
  }
  return libraries;
}

report::SurveyedBlas record_of(const blas::Surveyed& found, const std::string& default_path) {
  report::SurveyedBlas record;
  record.path = found.library.path;
  record.how = found.library.how;
  record.provider = found.library.file.provider;
  record.select = found.library.select;
  record.is_default = found.library.path == default_path;
  record.reason = found.reason;
  if (!found.result) return record;
  const blas::RungResult& result = *found.result;
  record.version = result.identity.version;
  record.core = result.identity.core;
  record.threading = result.identity.threading;
  record.threads = result.identity.threads;
  record.size = result.size;
  record.sgemm_gflops = result.gflops;
  record.sgemm_peak_fraction = result.peak_fraction;
  record.dgemm_gflops = result.dgemm_gflops;
  record.dgemm_peak_fraction = result.dgemm_peak_fraction;
  return record;
}

int exit_code(const std::string& verdict) {
  if (verdict == "optimal") return 0;
  return verdict == "inconclusive" ? 3 : 1;
}

// The verdict alone, on a command. Standard output is the command's.
Result<int> judge_command(const RunOptions& options) {
  if (auto done = check_report_output(options); !done) return error_of(done);
  const Result<report::Run> record = observe(options.request);
  if (!record) return error_of(record);
  if (!record->not_run.empty()) {
    spdlog::error("{}", report::printable(record->not_run));
    return record->exit;
  }
  write_verdict(*record, options);
  return exit_code(record->blas.verdict);
}

}  // namespace

Result<int> run_blas(const BlasOptions& options) {
  if (!options.run.request.command.empty()) return judge_command(options.run);
  const Budgets& budgets = options.quick ? kQuick : kFull;
  const auto deadline = Clock::now() + budgets.all;
  const auto libraries = libraries_to_measure(options);
  if (!libraries) return error_of(libraries);

  report::BlasSurvey record;
  record.version = HWPROF_VERSION;
  const CpuList cpus = allowed_cpus();
  record.machine = probe_machine(cpus.front());
  const auto loaded = load_blas("", static_cast<int>(cpus.size()));
  if (!loaded) return error_of(loaded);
  // A child each, before the ladder: it sets the libraries that it compares beside the default.
  const auto surveyed =
      blas::survey(*libraries, {.budget = budgets.survey, .longest_child = budgets.longest_child});
  record.blas = judge_blas(*loaded, record.machine,
                           {.requested = "",
                            .ladder = true,
                            .ladder_seconds = seconds_until(deadline),
                            .cpus = {cpus.front()}});
  for (const blas::Surveyed& found : surveyed) {
    record.libraries.push_back(record_of(found, record.blas.path));
  }
  record.notes = {
      "* is what programs get; one thread, square matrices, a child process each; the peak is that "
      "of float32 FMA on the same core, for dgemm half of it"};
  const auto printed =
      report::write_report(record, {report::survey_document, report::survey_json}, options.output);
  if (!printed) return error_of(printed);
  return exit_code(record.blas.verdict);
}

}  // namespace hwprof
