#include "src/report/documents/check.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <functional>
#include <memory>

#include "src/base/files.h"
#include "src/base/utc.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/check/host_facts.h"
#include "src/commands/check/required.h"
#include "src/commands/commands.h"
#include "src/commands/interrupt.h"
#include "src/commands/loaded_blas.h"
#include "src/commands/run/observe.h"
#include "src/observe/monitor/errands.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/printable.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct CheckOptions {
  std::string folder, run_id, host;
  std::string prometheus;
  bool quick = false;
  std::string of_host;  // an option that was given and goes with no command; empty: none
  RunOptions run;       // where run.request.command is not empty: the BLAS of that command instead
};

// Schedulers kill a health check after a minute, and jobs wait for it.
constexpr double kQuickLadder = 0.7, kFullLadder = 6;
constexpr std::chrono::milliseconds kLadderOfCommand{500}, kFilePatience{10'000};

Result<report::Check> check_host(const CheckOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  report::Check check;
  check.version = HWPROF_VERSION;
  check.run_id = options.run_id;
  check.host = options.host;
  check.quick = options.quick;
  check.started_utc = utc_now();
  const CpuList cpus = allowed_cpus();
  const OthersOnCpus others(cpus);
  check.machine = probe_machine(cpus.front());
  add_host_facts(cpus.front(), check);
  TRY(const auto loaded, load_blas("", static_cast<int>(cpus.size())));
  watch_interrupts();
  check.blas = judge_blas(loaded, check.machine,
                          {.requested = "",
                           .ladder = true,
                           .ladder_seconds = options.quick ? kQuickLadder : kFullLadder,
                           .cpus = cpus,
                           .stop = &interrupted()});
  if (const int code = interrupt_exit_code(); code != 0) {
    return environment_error(0, fmt::format("ended by signal {} before it had a verdict: no record "
                                            "is written",
                                            code - 128));
  }
  check.busy_fraction = others.fraction();
  check.ended_utc = utc_now();
  check.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  conclude(check);
  return check;
}

// The line goes out in any case: what was measured is not lost with the file.
Result<int> run_check(CheckOptions options) {
  if (options.host.empty()) {
    TRY(options.host, this_host());
  }
  const std::string file = options.folder.empty()
                               ? ""
                               : options.folder + "/" + record_name(options.host, options.run_id);
  // A folder that others may read is one that they may hold; a health check must end.
  observe::Errands errands;
  const auto at = [&](const std::string& path, const std::function<Result<void>()>& work) {
    return path.empty() ? Result<void>() : observe::at_file(errands, path, kFilePatience, work);
  };
  TRY(report::check_outputs({}, {file, options.prometheus}, [&](const std::string& path) {
    return at(path, [&] { return check_writable(path); });
  }));
  TRY(const report::Check check, check_host(options));
  const Result<void> saved = at(file, [&] { return write_file(file, report::check_json(check)); });
  const Result<void> exported = at(options.prometheus, [&] {
    return write_file(options.prometheus, report::check_prometheus(check));
  });
  TRY(report::write_stdout(report::check_line(check) + "\n"));
  if (!check.reason.empty()) spdlog::warn("{}", report::printable(check.reason));
  TRY(saved);
  TRY(exported);
  return exit_code(check.outcome);
}

Result<int> conclude_required(const report::Run& record, const RunOptions& /*options*/) {
  return required_exit(record);
}

Result<int> check_of_command(CheckOptions& options, bool quiet) {
  if (!options.run.require_optimal_blas) {
    return usage_error("a command needs --require optimal-blas",
                       "hwprof check --require optimal-blas -- COMMAND ARGS");
  }
  if (!options.of_host.empty()) {
    return usage_error(fmt::format("{} is of the host, not of a command", options.of_host),
                       "hwprof check --help says what goes with a command");
  }
  options.run.request.counters = false;
  options.run.request.short_ladder = kLadderOfCommand;
  options.run.reports_not_run = true;
  return observe_apart(options.run, quiet ? required_line : required_verdict, false,
                       conclude_required);
}

}  // namespace

cli::Action check_command(cli::Options& options) {
  auto to = std::make_shared<CheckOptions>();
  options.group(cli::kBudget);
  const auto quick =
      options.flag("--quick", to->quick,
                   "End within a second, with fewer core types measured. Default: within 8 s.");
  options.group(cli::kReport);
  const auto folder = options.value(
      "--out", "DIR", to->folder, cli::any_text,
      "Write the record, JSON, as HOST@ID.json into this folder, which may be one that many hosts "
      "share: whole or not at all. Default: write none.");
  const auto run_id =
      options.value("--run-id", "ID", to->run_id, run_id_in,
                    "Name of the run that the record is of, the same on each "
                    "host: a date, the number of a job. Default: none, without --out.");
  const auto host =
      options.value("--host", "NAME", to->host, host_in,
                    "Name of this host in the record. Default: in a job the node's name in "
                    "Slurm, else as it calls itself.");
  const auto prometheus = options.value(
      "--prometheus", "FILE", to->prometheus, cli::file_in(".prom"),
      "Write the same as metrics to FILE.prom, for the textfile collector of Prometheus's "
      "node_exporter. Default: do not.");
  cli::require(options, {{"optimal-blas", &to->run.require_optimal_blas}},
               "Of a command: what is to hold, optimal-blas. Default: nothing.");
  options.footer(
      "hwprof check --out /shared/blas --run-id 2026-11-27\n"
      "hwprof check --quick                          a health check, the line alone\n"
      "hwprof check --require optimal-blas --quiet -- COMMAND ARGS\n"
      "                                              what that command gets, in a line\n"
      "\nThe line on standard output is for other programs:\n"
      "verdict=optimal gflops=61.3 peak_fraction=0.87 factor=1 outcome=pass ...\n"
      "that on a command is on standard error, standard output is the command's:\n"
      "host=node01 exit=0 verdict=optimal reason=...\n"
      "\nExit codes: 0 the BLAS is optimal, 1 it is bad, 2 wrong usage, 3 unknown (it\n"
      "cannot be told, or a file cannot be written), 4 the command failed.");
  options.check([=]() -> Result<void> {
    for (const cli::Option& option : {quick, folder, run_id, host, prometheus})
      if (option.given()) to->of_host = option.name();
    if (folder.given() == run_id.given()) return {};
    const cli::Option& missing = folder.given() ? run_id : folder;
    return usage_error(
        fmt::format("{} needs {}", folder.given() ? "--out" : "--run-id", missing.name()),
        "hwprof check --out DIR --run-id ID");
  });
  return [to](const cli::CommandLine& line) -> Result<int> {
    to->run.request.command = line.command;
    if (!line.command.empty())
      return check_of_command(*to, line.verbosity == cli::Verbosity::kQuiet);
    if (!to->run.require_optimal_blas) return run_check(*to);
    return usage_error("--require needs a command",
                       "hwprof check --require optimal-blas -- COMMAND ARGS");
  };
}

}  // namespace hwprof
