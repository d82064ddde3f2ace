// The options of `hwprof blas`.
#include "src/commands/blas_options.h"

#include <memory>

#include "src/cli/groups.h"
#include "src/commands/blas.h"
#include "src/commands/commands.h"

namespace hwprof {

cli::Action blas_command(cli::Options& options) {
  auto to = std::make_shared<BlasOptions>();
  options.words("paths", "[PATH...]", to->paths,
                "Measure these libraries too. Default: all that the loader cache, the "
                "alternatives and LD_LIBRARY_PATH know.");
  options.group(cli::kBudget);
  options.flag("--quick", to->quick,
               "End within 3 s, with fewer core types measured. Default: measure all.");
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kMarkdown},
              "standard output; with a command, whose that is, standard error");
  options.footer(
      "hwprof blas -- COMMAND ARGS: the verdict on the BLAS that the command uses,\n"
      "instead of what is installed.\n"
      "\nThe first line is for other programs:\n"
      "verdict=optimal provider=openblas core=Zen gflops=61.3 peak_fraction=0.87\n"
      "\nExit codes: 0 optimal, 1 not, 2 wrong usage, 3 inconclusive.");
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
