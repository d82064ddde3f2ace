#include "src/commands/profile/measure_options.h"

#include <fmt/format.h>

#include <limits>

#include "src/base/text.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kMaxPasses = 1000;

Result<std::vector<int>> read_threads(const std::string& name, const std::string& text) {
  TRY(const auto words, cli::parse_list(name, text));
  std::vector<int> counts;
  for (const std::string& word : words) {
    TRY(const auto count, cli::parse_whole(name, word, 1, cli::kMaxThreads));
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

}  // namespace

void declare_inputs(cli::Options& options, MeasureOptions& to) {
  options.group(cli::kWork);
  options.value("--blas", "PATH", to.machine.blas, cli::any_text,
                "Load this BLAS. Default: what the dynamic loader gives a program that asks for "
                "libblas.so.3.");
  options.value("--seed", "N", to.seed, cli::whole(0, std::numeric_limits<std::uint64_t>::max()),
                "Draw documents and weights from seed N. Default: 0.");
}

void declare_machine(cli::Options& options, MachineOptions& to) {
  cli::pin(options, to.pin);
  cli::events(options, to.events, cli::kKernelEvents);
  options.value("--threads", "LIST", to.threads, read_threads,
                "Compute with N threads; several numbers, as in 1,2,4, one after the other and "
                "side by side. Default: one for each CPU it may use.");
  static constexpr std::string_view kIsas[] = {"sse", "avx2", "avx512", "neon"};
  options
      .value("--isa", "ISA", to.isa, cli::any_text,
             fmt::format("Use no wider instruction set in hwprof's own kernels: {}. Default: the "
                         "widest that the CPU has.",
                         join(kIsas)))
      .completes(cli::offer(kIsas));
  options.value("--passes", "N", to.passes, cli::whole(1, kMaxPasses),
                "Count in at most N passes; events that do not fit are multiplexed. Default: as "
                "many passes as the events need.");
}

std::vector<cli::Option> declare_exact(cli::Options& options, MeasureOptions& to) {
  static constexpr cli::Choice<exact::Engine> kEngines[] = {{"blocks", exact::Engine::kBlocks},
                                                            {"steps", exact::Engine::kSteps}};
  const cli::Option exact = options.flag(
      "--exact", to.exact,
      "Count one call of each row instruction by instruction, too, apart from its timing: exact "
      "FLOP, bytes and vector widths, without a PMU and the same in every run; x86-64 only. "
      "Default: do not.");
  const cli::Option engine =
      options
          .value("--engine", "ENGINE", to.exact_engine, cli::choice(kEngines),
                 "How --exact counts. blocks: a copy of the code, in which each piece counts "
                 "itself. steps: so, and again by a trap at each instruction of the code itself, "
                 "some 10 us each, for small shapes: no count unless both are equal. Default: "
                 "blocks.")
          .needs(exact);
  return {exact, engine};
}

void declare_time_budget(cli::Options& options, BudgetOptions& to) {
  options.group(cli::kBudget);
  options.value("--time-budget", "SECONDS", to.seconds, cli::seconds(cli::kMaxSeconds),
                "Measure for so long, all rows in turn until it is over; a first and a timed "
                "call of each row are always made. Default: 10.");
}

}  // namespace hwprof
