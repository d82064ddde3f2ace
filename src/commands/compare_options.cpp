// The options of `hwprof compare`.
#include "src/commands/compare_options.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "src/cli/log.h"
#include "src/cli/options.h"
#include "src/cli/value_options.h"
#include "src/cli/values.h"

namespace hwprof::cli {
namespace {

constexpr Choice<Format> kFormats[] = {{"text", Format::kText},
                                       {"json", Format::kJson},
                                       {"csv", Format::kCsv},
                                       {"markdown", Format::kMarkdown}};

constexpr const char* kWhat = "What counts as different";
constexpr const char* kReport = "The report";

using Text = const std::string&;

constexpr ValueOption<CompareOptions> kCompareOptions[] = {
    {"--threshold", "SHARE", kWhat, Occurs::kOnce,
     [](Text name, Text text, CompareOptions& to) {
       return store(parse_share(name, text), to.threshold);
     },
     "Call a row slower or faster beyond this share of its time: 5% or\n"
     "0.05. Default: 5%."},
    {"--format", "FORMAT", kReport, Occurs::kOnce,
     [](Text name, Text text, CompareOptions& to) {
       return store(parse_choice(name, text, kFormats), to.output.format);
     },
     "Print text, json, csv or markdown. Default: text."},
    {"-o,--output", "FILE", kReport, Occurs::kOnce,
     [](Text, Text text, CompareOptions& to) {
       return store<std::string>(text == "-" ? "" : text, to.output.file);
     },
     "Write the report to FILE, whole or not at all. Default: \"-\",\n"
     "standard output."},
};

struct Typed {
  TypedValues values;
  std::vector<std::string> files;
  bool full = false;
};

}  // namespace

Action declare_compare(CLI::App& app, std::function<Result<int>(const CompareOptions&)> run) {
  auto typed = std::make_shared<Typed>();
  app.add_option("files", typed->files,
                 "JSON reports of hwprof profile, run or sweep; the first one is\n"
                 "the baseline, each other one is compared with it.")
      ->option_text("BASELINE FILE...");
  declare_values<CompareOptions>(app, kCompareOptions, typed->values);
  declare_flag(app, "--full", kReport, "Print all of the text report. Default: what matters most.",
               typed->full);
  app.footer(
      "\nhwprof --pin 0 --format json -o before.json\n"
      "hwprof compare before.json after.json\n"
      "\nExit codes: 0 no row is slower by more than the threshold, 1 some row is, 2 wrong usage\n"
      "or input.");
  return [typed, run = std::move(run)](const std::vector<std::string>&) -> Result<int> {
    CompareOptions options;
    auto done = set_values<CompareOptions>(kCompareOptions, typed->values, options);
    if (!done) return error_of(done);
    options.files = typed->files;
    options.output.full = typed->full;
    if (options.files.size() < 2) {
      return usage_error("compare needs two reports or more",
                         "hwprof compare BASELINE.json FILE.json");
    }
    start_log(Verbosity::kNormal);
    return run(options);
  };
}

}  // namespace hwprof::cli
