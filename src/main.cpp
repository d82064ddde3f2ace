// Prints an error and returns the exit code; the rest is in libraries, where tests reach it.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "src/blas/ladder/rung.h"
#include "src/cli/options.h"
#include "src/commands/attach.h"
#include "src/commands/blas.h"
#include "src/commands/compare.h"
#include "src/commands/doctor.h"
#include "src/commands/events.h"
#include "src/commands/peak.h"
#include "src/commands/profile.h"
#include "src/commands/run.h"
#include "src/commands/sweep.h"
#include "src/commands/workloads.h"
#include "src/report/render/output.h"

namespace {

using hwprof::Error;
using hwprof::error_of;
using hwprof::Fault;
using hwprof::Result;

// The first is the default.
constexpr hwprof::cli::Command kCommands[] = {
    {"profile", "Profile a workload, a text CNN unless told, and judge the BLAS under it.",
     [](CLI::App& app) { return hwprof::cli::declare_profile(app, hwprof::run_profile); }},
    {"blas", "Judge the BLAS that programs get here, and rank those that are installed.",
     [](CLI::App& app) { return hwprof::cli::declare_blas(app, hwprof::run_blas); }, true},
    {"run", "Run any program, count what it does, and prove which BLAS it uses.",
     [](CLI::App& app) { return hwprof::cli::declare_run(app, hwprof::run_run); }, true},
    {"attach", "The same for a process that already runs.",
     [](CLI::App& app) { return hwprof::cli::declare_attach(app, hwprof::run_attach); }},
    {"compare", "Say which rows of a report are slower than in another one.",
     [](CLI::App& app) { return hwprof::cli::declare_compare(app, hwprof::run_compare); }},
    {"sweep", "Measure an operation over sizes: does the time agree with the complexity analysis?",
     [](CLI::App& app) { return hwprof::cli::declare_sweep(app, hwprof::run_sweep); }},
    {"events", "List what can be counted here, or explain events for any CPU.",
     [](CLI::App& app) { return hwprof::cli::declare_events(app, hwprof::run_events); }},
    {"doctor", "Say what stands between this machine and good numbers.",
     [](CLI::App& app) { return hwprof::cli::declare_doctor(app, hwprof::run_doctor); }},
    {"workloads", "List what can be profiled, or write a network out as a start for one's own.",
     [](CLI::App& app) { return hwprof::cli::declare_workloads(app, hwprof::run_workloads); }},
    {"peak", "Measure the FMA peak and the bandwidth of each memory level.",
     [](CLI::App& app) { return hwprof::cli::declare_peak(app, hwprof::run_peak); }},
};

Result<int> run(const std::vector<std::string>& args) {
  const auto invocation = hwprof::cli::parse(kCommands, args);
  if (!invocation) return error_of(invocation);
  if (invocation->text.empty()) return invocation->run();
  if (auto printed = hwprof::report::write_stdout(invocation->text); !printed) {
    return error_of(printed);
  }
  return 0;
}

int complain(const Error& error) {
  // Not fmt::print, which throws where standard error cannot be written.
  std::string text = fmt::format("hwprof: error: {}\n", error.what);
  if (!error.hint.empty()) text += fmt::format("  hint: {}\n", error.hint);
  std::fputs(text.c_str(), stderr);
  return error.fault == Fault::kUsage ? 2 : 3;
}

// A standard descriptor that is closed would be given to the next file that is opened, and the
// report written into that. Read-only: writing to it still fails, as it should. Close-on-exec: a
// program that hwprof runs finds it closed, as hwprof did.
void reserve_standard_descriptors() {
  for (int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0 && fd <= STDERR_FILENO;) {
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd > STDERR_FILENO) ::close(fd);
  }
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_descriptors();
  try {
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (!args.empty() && args.front() == hwprof::blas::kRungCommand) {
      return hwprof::blas::run_rung({args.begin() + 1, args.end()});
    }
    const Result<int> code = run(args);
    return code ? *code : complain(code.error());
  } catch (const std::exception& error) {  // memory ran out, or a bug: never an abort
    return complain(Error{Fault::kEnvironment, 0, error.what(), {}});
  }
}
