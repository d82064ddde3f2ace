// The command line as users type it, up to where a command would run.
#include "src/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "src/cli/groups.h"
#include "src/commands/commands.h"
#include "src/commands/profile/options.h"

namespace hwprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::optional<ProfileOptions> ran_with;
CommandLine ran_as;

const Command kCommands[] = {
    {"profile", "Profile things.",
     [](cli::Options& options) -> Action {
       return [to = declare_profile(options)](const CommandLine& line) {
         ran_with = *to;
         ran_as = line;
         return 0;
       };
     }},
    {"other", "Do something else.",
     [](cli::Options&) -> Action { return [](const CommandLine&) { return 7; }; }, true},
};

using Words = std::vector<std::string>;

// What `hwprof profile` would run with.
Result<ProfileOptions> options_of(const Words& words) {
  ran_with.reset();
  const auto invocation = parse(kCommands, words);
  if (!invocation) return tl::make_unexpected(invocation.error());
  if (!invocation->run) return usage_error("printed text");
  const auto code = invocation->run();
  if (!code) return tl::make_unexpected(code.error());
  return ran_with.value();
}

void expect_refused(const Words& words, const std::string& what, const std::string& hint = {}) {
  const auto options = options_of(words);
  ASSERT_FALSE(options.has_value()) << what;
  EXPECT_EQ(options.error().fault, Fault::kUsage);
  EXPECT_THAT(options.error().what, HasSubstr(what));
  EXPECT_THAT(options.error().hint, HasSubstr(hint));
  EXPECT_EQ(options.error().what.find('\n'), std::string::npos);
  EXPECT_FALSE(ran_with.has_value());
}

std::string text_of(const Words& words) {
  const auto invocation = parse(kCommands, words);
  EXPECT_TRUE(invocation.has_value() && !invocation->run);
  return invocation->text;
}

TEST(Options, WithoutWordsTheFirstCommandRunsWithItsDefaults) {
  const auto options = options_of({});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  const auto& text_cnn = std::get<TextCnnOptions>(options->workload);
  EXPECT_THAT(ran_as.words, ElementsAre("hwprof"));
  EXPECT_TRUE(options->measure.machine.pin.empty());
  EXPECT_TRUE(options->measure.machine.events.empty());
  EXPECT_EQ(text_cnn.docs, std::nullopt);
  EXPECT_EQ(text_cnn.embed, std::nullopt);
  EXPECT_EQ(text_cnn.padding, Padding::kOwn);
  EXPECT_TRUE(options->measure.machine.threads.empty());
  EXPECT_TRUE(options->measure.machine.ladder);
  EXPECT_EQ(options->measure.budget.seconds, 10);
  EXPECT_EQ(options->measure.machine.passes, 0U);
  EXPECT_EQ(options->measure.seed, 0U);
  EXPECT_EQ(options->measure.output.format, Format::kText);
  EXPECT_EQ(ran_as.verbosity, Verbosity::kNormal);
  EXPECT_FALSE(options->require_optimal_blas);
  EXPECT_FALSE(options->require_counters);
}

TEST(Options, WorkAsTyped) {
  const auto options =
      options_of({"profile", "--docs", "d.txt", "--docs-format", "libmultilabel", "--embed",
                  "e.txt", "--padding", "batch", "--shape", "filter_sizes=2+4", "--shape", "l=9",
                  "--variant", "simd,reference", "--blas", "libx.so", "--seed", "5"});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  const auto& text_cnn = std::get<TextCnnOptions>(options->workload);
  EXPECT_EQ(text_cnn.docs, "d.txt");
  EXPECT_EQ(text_cnn.docs_format, DocsFormat::kLibMultiLabel);
  EXPECT_EQ(text_cnn.embed, "e.txt");
  EXPECT_EQ(text_cnn.padding, Padding::kBatch);
  EXPECT_THAT(text_cnn.shape.filter_sizes, ElementsAre(2U, 4U));
  EXPECT_EQ(text_cnn.shape.l, 9U);
  EXPECT_THAT(text_cnn.variants, ElementsAre("simd", "reference"));
  EXPECT_EQ(options->measure.machine.blas, "libx.so");
  EXPECT_EQ(options->measure.seed, 5U);
}

TEST(Options, MeasurementAsTyped) {
  const auto options =
      options_of({"--pin", "0,2-3", "--events", "flops,cpu/a=1,b=2/", "--events", "llc-miss",
                  "--threads", "3", "--time-budget=0.5", "--passes", "2", "--no-ladder"});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  EXPECT_THAT(options->measure.machine.pin, ElementsAre(0U, 2U, 3U));
  EXPECT_THAT(options->measure.machine.events, ElementsAre("flops", "cpu/a=1,b=2/", "llc-miss"));
  EXPECT_EQ(options->measure.machine.threads, std::vector<int>{3});
  EXPECT_EQ(options->measure.budget.seconds, 0.5);
  EXPECT_EQ(options->measure.machine.passes, 2U);
  EXPECT_FALSE(options->measure.machine.ladder);
}

TEST(Options, ReportAsTyped) {
  const auto options = options_of(
      {"--format", "markdown", "-o", "out.md", "--require", "optimal-blas,counters", "-v"});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  EXPECT_EQ(options->measure.output.format, Format::kMarkdown);
  EXPECT_EQ(options->measure.output.file, "out.md");
  EXPECT_TRUE(options->require_optimal_blas);
  EXPECT_TRUE(options->require_counters);
  EXPECT_EQ(ran_as.verbosity, Verbosity::kVerbose);
  EXPECT_TRUE(options_of({"-q"}).has_value());
  EXPECT_EQ(ran_as.verbosity, Verbosity::kQuiet);
  EXPECT_EQ(options_of({"--output=-"})->measure.output.file, "");
  EXPECT_TRUE(options_of({"--require", "counters"})->require_counters);
  EXPECT_FALSE(options_of({"--require", "counters"})->require_optimal_blas);
}

TEST(Options, CommandLineIsKeptForTheReport) {
  ASSERT_TRUE(options_of({"--pin", "0"}).has_value());
  EXPECT_THAT(ran_as.words, ElementsAre("hwprof", "--pin", "0"));
}

TEST(Options, AWorkloadHasItsOwn) {
  const auto mlp = options_of({"--workload", "mlp", "--epochs", "3", "--variant", "simd"});
  ASSERT_TRUE(mlp.has_value()) << mlp.error().what;
  EXPECT_EQ(std::get<MlpOptions>(mlp->workload).epochs, 3);
  EXPECT_THAT(std::get<MlpOptions>(mlp->workload).variants, ElementsAre("simd"));
  const auto file = options_of({"--workload", "./net.json", "--against", "t.csv"});
  ASSERT_TRUE(file.has_value()) << file.error().what;
  EXPECT_EQ(std::get<NetworkOptions>(file->workload).network, "./net.json");
  EXPECT_EQ(std::get<NetworkOptions>(file->workload).against, "t.csv");
  expect_refused({"--workload", "mlp", "--docs", "d"}, "--docs means nothing to the workload mlp",
                 "textcnn");
  expect_refused({"--workload", "mpl"}, "unknown workload 'mpl'", "mlp");
}

TEST(Options, VerbosityIsThatOfTheLog) {
  ASSERT_TRUE(options_of({"-v"}).has_value());
  EXPECT_EQ(spdlog::get_level(), spdlog::level::debug);
  ASSERT_TRUE(options_of({"-q"}).has_value());
  EXPECT_EQ(spdlog::get_level(), spdlog::level::err);
  ASSERT_TRUE(options_of({}).has_value());
  EXPECT_EQ(spdlog::get_level(), spdlog::level::warn);
}

TEST(Options, LogGoesToStandardErrorOnly) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(options_of({}).has_value());
  spdlog::warn("a thing");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "hwprof: warning: a thing\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Options, UnknownOnesGetASuggestion) {
  expect_refused({"--evnts", "flops"}, "unknown option '--evnts'", "--events");
  expect_refused({"--evnts=flops"}, "unknown option '--evnts'", "--events");
  expect_refused({"profile", "--pni=0"}, "unknown option '--pni'", "--pin");
  expect_refused({"--pin", "0", "-x"}, "unknown option '-x'", "hwprof profile --help");
}

TEST(Options, ValuesThatAreMissingAreNamed) {
  expect_refused({"--pin"}, "--pin needs a value");
  expect_refused({"-o"}, "--output needs a value");
  expect_refused({"--pin="}, "--pin needs a value");
  expect_refused({"--docs", ""}, "--docs has an empty value");
  expect_refused({"--pin", "--events", "flops"}, "--pin: a value is missing before '--events'");
  expect_refused({"-o", "-q"}, "--output: a value is missing before '-q'");
}

TEST(Options, ValuesThatAreWrongAreNamed) {
  expect_refused({"--pin", "x"}, "'x'");
  expect_refused({"--threads", "-1"}, "--threads takes a whole number from 1 to 8192, not '-1'");
  expect_refused({"--threads", "0"}, "--threads");
  expect_refused({"--time-budget", "0"}, "--time-budget");
  expect_refused({"--passes", "0"}, "--passes");
  expect_refused({"--seed", "-1"}, "--seed");
  expect_refused({"--format", "jsn"}, "--format takes text, json, csv, markdown", "json");
  expect_refused({"--padding", "none"}, "--padding takes own, batch, not 'none'");
  expect_refused({"--docs", "d", "--docs-format", "line"}, "--docs-format", "lines");
  expect_refused({"--require", "counters,blas"}, "--require takes optimal-blas, counters", "");
  expect_refused({"--shape", "k=0"}, "--shape: k");
  expect_refused({"--shape", "k=2", "--shape", "k=3"}, "--shape has k twice");
  expect_refused({"--shape", "d_e=2000000000,d_c=2000000000"}, "--shape needs at least");
  expect_refused({"--events", "flops,"}, "--events");
}

TEST(Options, OnceIsEnough) {
  expect_refused({"--pin", "0", "--pin", "1"}, "--pin is given 2 times");
  EXPECT_TRUE(options_of({"-v", "-v"}).has_value());
}

TEST(Options, ThatContradictEachOtherAreRefused) {
  expect_refused({"-v", "-q"}, "--verbose and --quiet exclude each other");
  expect_refused({"-vq"}, "--verbose and --quiet exclude each other");
  expect_refused({"--docs-format", "lines"}, "--docs-format needs --docs");
}

TEST(Options, FlagsTakeNoValue) {
  expect_refused({"--verbose=3"}, "--verbose takes no value");
  expect_refused({"--no-ladder=false"}, "--no-ladder takes no value");
}

TEST(Options, OtherWordsAreRefused) {
  expect_refused({"--events", "flops", "llc-miss"}, "unexpected argument 'llc-miss'");
  expect_refused({"--", "--pin"}, "unexpected argument '--pin'");
  expect_refused({"-"}, "unexpected argument '-'");
  expect_refused({"--pin", "0", "profile"}, "the command 'profile' must be the first word");
}

TEST(Commands, AreFoundByNameAndGetTheirExitCodeThrough) {
  const auto invocation = parse(kCommands, Words{"other"});
  ASSERT_TRUE(invocation.has_value());
  EXPECT_EQ(invocation->run().value(), 7);
}

TEST(Commands, UnknownOnesGetASuggestion) {
  expect_refused({"profil"}, "unknown command 'profil'", "profile");
  expect_refused({"zzzzzz"}, "unknown command 'zzzzzz'", "hwprof --help");
  expect_refused({""}, "unknown command ''", "hwprof --help");
}

// What the command line says of words that hwprof itself, with all its commands, refuses.
Error refused_by_hwprof(const Words& words) {
  const auto invocation = parse(commands(), words);
  EXPECT_FALSE(invocation.has_value());
  return invocation ? Error{} : invocation.error();
}

TEST(Commands, AnUnknownOptionNamesTheCommandThatHasIt) {
  const Error run = refused_by_hwprof({"run", "--shape", "k=2", "--", "true"});
  EXPECT_EQ(run.fault, Fault::kUsage);
  EXPECT_EQ(run.what, "hwprof run has no --shape");
  EXPECT_EQ(run.hint, "profile, sweep have it: hwprof profile --shape SPEC");
  const Error doctor = refused_by_hwprof({"doctor", "--regions=x.csv"});
  EXPECT_EQ(doctor.what, "hwprof doctor has no --regions");
  EXPECT_EQ(doctor.hint, "profile has it: hwprof profile --regions FILE");
  // The nearest of its own where no command has it.
  EXPECT_THAT(refused_by_hwprof({"run", "--fromat", "json"}).hint, HasSubstr("--format"));
}

// The blocks of a help text that begin with an option, each on one line.
std::vector<std::string> option_blocks(const std::string& text) {
  std::vector<std::string> blocks;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    const bool begins = line.starts_with("  -");
    inside = begins || (inside && line.starts_with("    "));
    if (begins) blocks.emplace_back();
    if (inside) blocks.back() += line + " ";
  }
  return blocks;
}

TEST(Commands, HaveOneVocabulary) {
  std::map<std::string, std::string> groups;  // of an option: the title that it stands under
  for (const Command& command : commands()) {
    SCOPED_TRACE(std::string(command.name));
    const auto invocation = parse(commands(), Words{std::string(command.name), "--help"});
    ASSERT_TRUE(invocation.has_value()) << invocation.error().what;
    const std::string& text = invocation->text;
    for (const char* option : {"-v,--verbose", "-q,--quiet"}) EXPECT_THAT(text, HasSubstr(option));
    // Its report is a line for other programs, and a record a host.
    if (command.name != "check") {
      for (const char* option : {"--format", "--json", "-o,--output"})
        EXPECT_THAT(text, HasSubstr(option));
    }
    for (const std::string& block : option_blocks(text))
      EXPECT_TRUE(block.find("Default:") != std::string::npos || block.starts_with("  -h"))
          << block;
    // Titles in one order.
    std::size_t at = 0;
    for (const char* title : {kWork, kMachine, kBudget, kRegions, kReport, kGeneral}) {
      const std::size_t found = text.find(std::string("\n") + title + ":\n");
      if (found == std::string::npos) continue;
      EXPECT_GT(found, at) << title;
      EXPECT_EQ(text.find(std::string("\n") + title + ":\n", found + 1), std::string::npos)
          << title;
      at = found;
    }
  }
}

TEST(Commands, JsonIsAnAliasThatContradictsOtherFormats) {
  EXPECT_EQ(options_of({"--json"})->measure.output.format, Format::kJson);
  EXPECT_EQ(options_of({"--json", "--format", "json"})->measure.output.format, Format::kJson);
  expect_refused({"--json", "--format", "csv"}, "--json and another --format exclude each other");
}

TEST(Help, OfTheProgramListsTheCommands) {
  for (const char* word : {"--help", "-h"}) {
    const std::string text = text_of({word});
    EXPECT_THAT(text, HasSubstr("Profile things."));
    EXPECT_THAT(text, HasSubstr("other"));
  }
  EXPECT_EQ(text_of({"--version"}), "hwprof " HWPROF_VERSION "\n");
}

TEST(Help, OfACommandIsPrintedWhereverItIsAskedFor) {
  for (const Words& words : {Words{"profile", "--help"}, Words{"--pin", "0", "--help"}}) {
    EXPECT_THAT(text_of(words), StartsWith("Profile things."));
  }
}

}  // namespace
}  // namespace hwprof::cli
