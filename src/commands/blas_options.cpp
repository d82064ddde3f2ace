// The options of `hwprof blas`.
#include "src/commands/blas_options.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "src/cli/log.h"
#include "src/cli/options.h"
#include "src/cli/value_options.h"
#include "src/cli/values.h"

namespace hwprof::cli {
namespace {

constexpr Choice<Format> kFormats[] = {
    {"text", Format::kText}, {"json", Format::kJson}, {"markdown", Format::kMarkdown}};

constexpr const char* kWhat = "What is looked at";
constexpr const char* kReport = "The report";

constexpr ValueOption<BlasOptions> kBlasOptions[] = {
    {"--format", "FORMAT", kReport, Occurs::kOnce,
     [](const std::string& name, const std::string& text, BlasOptions& to) {
       return store(parse_choice(name, text, kFormats), to.output.format);
     },
     "Print text, json or markdown. Default: text."},
    {"-o,--output", "FILE", kReport, Occurs::kOnce,
     [](const std::string&, const std::string& text, BlasOptions& to) {
       return store<std::string>(text == "-" ? "" : text, to.output.file);
     },
     "With a command: write the verdict to FILE. Default: standard error;\n"
     "standard output is the command's."},
};

struct Typed {
  TypedValues values;
  BlasOptions options;
  bool json = false;
};

}  // namespace

Action declare_blas(CLI::App& app, std::function<Result<int>(const BlasOptions&)> run) {
  auto typed = std::make_shared<Typed>();
  app.add_option("paths", typed->options.paths,
                 "Measure these libraries too. Default: all that the loader\n"
                 "cache, the alternatives and LD_LIBRARY_PATH know.")
      ->option_text("[PATH...]");
  declare_flag(app, "--quick", kWhat, "End within 3 s, with fewer core types measured.",
               typed->options.quick);
  declare_values(app, std::span<const ValueOption<BlasOptions>>(kBlasOptions), typed->values);
  declare_flag(app, "--json", kReport, "The same as --format json.", typed->json);
  declare_flag(app, "--full", kReport, "Print all of the text report. Default: what matters most.",
               typed->options.output.full);
  app.footer(
      "\nhwprof blas -- COMMAND ARGS: the verdict on the BLAS that the command uses, instead of\n"
      "what is installed.\n"
      "\nThe first line is for other programs:\n"
      "verdict=optimal provider=openblas core=Zen gflops=61.3 peak_fraction=0.87\n"
      "\nExit codes: 0 optimal, 1 not, 2 wrong usage, 3 inconclusive.");
  return [typed,
          run = std::move(run)](const std::vector<std::string>& command_line) -> Result<int> {
    BlasOptions options = typed->options;
    const auto done =
        set_values(std::span<const ValueOption<BlasOptions>>(kBlasOptions), typed->values, options);
    if (!done) return error_of(done);
    if (typed->json) options.output.format = Format::kJson;
    options.run.output = options.output;
    options.run.request.command = words_behind_dashes(command_line);
    options.run.request.ladder = !options.quick;
    const bool command = !options.run.request.command.empty();
    if (command && !options.paths.empty()) {
      return usage_error("libraries and a command exclude each other",
                         "hwprof blas [PATH...], or hwprof blas -- COMMAND ARGS");
    }
    if (!command && !options.output.file.empty()) {
      return usage_error("--output is for the verdict on a command",
                         "without one, the report goes to standard output");
    }
    start_log(Verbosity::kNormal);
    return run(options);
  };
}

}  // namespace hwprof::cli
