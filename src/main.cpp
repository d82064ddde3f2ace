// Prints an error and returns the exit code; the rest is in libraries, where tests reach it.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/own_proc.h"
#include "src/blas/ladder/rung.h"
#include "src/cli/options.h"
#include "src/commands/commands.h"
#include "src/observe/proc/signals.h"
#include "src/report/printable.h"
#include "src/report/render/write_report.h"

namespace {

using hwprof::Error;
using hwprof::Fault;
using hwprof::Result;

Result<int> run(const std::vector<std::string>& args) {
  TRY(const auto invocation, hwprof::cli::parse(hwprof::commands(), args));
  if (invocation.run) return invocation.run();
  TRY(hwprof::report::write_stdout(invocation.text));
  return 0;
}

int complain(const Error& error) {
  // What is named may have been named by another user (printable.h). Not fmt::print, which throws
  // where standard error cannot be written.
  using hwprof::report::printable;
  std::string text = fmt::format("hwprof: error: {}\n", printable(error.what));
  if (!error.hint.empty()) text += fmt::format("  hint: {}\n", printable(error.hint));
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

// Behind `--` stands a command of the user's.
hwprof::ProcFor proc_for(int argc, char** argv) {
  const bool has_command =
      std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--"; });
  return has_command ? hwprof::ProcFor::kCommands : hwprof::ProcFor::kHwprofAlone;
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_descriptors();
  hwprof::ignore_file_size_limit();
  try {
    hwprof::guard_proc(proc_for(argc, argv));
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
