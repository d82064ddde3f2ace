// From the words of the command line to what is to be done. Commands are data: a table that main
// hands over; help, suggestions and the default command follow from it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/commands/blas_options.h"
#include "src/commands/compare_options.h"
#include "src/commands/inspect_options.h"
#include "src/commands/profile_options.h"
#include "src/commands/run_options.h"
#include "src/commands/sweep_options.h"

namespace CLI {
class App;
}

namespace hwprof::cli {

// Runs a command whose options are parsed; gets the words typed, returns the exit code.
using Action = std::function<Result<int>(const std::vector<std::string>& command_line)>;

struct Command {
  std::string_view name;
  std::string_view help;             // one line
  Action (*declare)(CLI::App& app);  // adds its options to `app`
  bool takes_command = false;        // what follows `--` is a command of the user's, not parsed
};

// Of a command that takes one: all behind the first `--`.
std::vector<std::string> words_behind_dashes(const std::vector<std::string>& command_line);

// The options of a command; the action checks their values, then calls `run`.
Action declare_profile(CLI::App& app, std::function<Result<int>(const ProfileOptions&)> run);
Action declare_events(CLI::App& app, std::function<Result<int>(const EventsOptions&)> run);
Action declare_doctor(CLI::App& app, std::function<Result<int>(const DoctorOptions&)> run);
Action declare_blas(CLI::App& app, std::function<Result<int>(const BlasOptions&)> run);
Action declare_compare(CLI::App& app, std::function<Result<int>(const CompareOptions&)> run);
Action declare_sweep(CLI::App& app, std::function<Result<int>(const SweepOptions&)> run);
Action declare_peak(CLI::App& app, std::function<Result<int>(const PeakOptions&)> run);
Action declare_workloads(CLI::App& app, std::function<Result<int>(const WorkloadsOptions&)> run);
Action declare_run(CLI::App& app, std::function<Result<int>(const RunOptions&)> run);
Action declare_attach(CLI::App& app, std::function<Result<int>(const RunOptions&)> run);

struct Invocation {
  std::string text;                  // help or version, to be printed; empty: `run`
  std::function<Result<int>()> run;  // exit code
};

// `args` without the program's name. The first command of the table is the default: no word of the
// user need name it. Fault::kUsage for an unknown command or option, with the nearest names.
Result<Invocation> parse(std::span<const Command> commands, const std::vector<std::string>& args);

}  // namespace hwprof::cli
