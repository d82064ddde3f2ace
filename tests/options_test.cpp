// The command line as users type it, up to where a command would run.
#include "src/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace hwprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::optional<ProfileOptions> ran_with;

const Command kCommands[] = {
    {"profile", "Profile things.",
     [](CLI::App& app) {
       return declare_profile(app, [](const ProfileOptions& options) -> Result<int> {
         ran_with = options;
         return 0;
       });
     }},
    {"other", "Do something else.",
     [](CLI::App&) -> Action { return [](const std::vector<std::string>&) { return 7; }; }},
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
  EXPECT_THAT(options->command, ElementsAre("hwprof"));
  EXPECT_TRUE(options->pin.empty());
  EXPECT_TRUE(options->events.empty());
  EXPECT_EQ(options->docs, std::nullopt);
  EXPECT_EQ(options->embed, std::nullopt);
  EXPECT_EQ(options->padding, Padding::kOwn);
  EXPECT_TRUE(options->threads.empty());
  EXPECT_TRUE(options->ladder);
  EXPECT_EQ(options->time_budget_s, 10);
  EXPECT_EQ(options->passes, 0U);
  EXPECT_EQ(options->seed, 0U);
  EXPECT_EQ(options->format, Format::kText);
  EXPECT_FALSE(options->quiet);
  EXPECT_FALSE(options->require_optimal_blas);
  EXPECT_FALSE(options->require_counters);
}

TEST(Options, WorkAsTyped) {
  const auto options =
      options_of({"profile", "--docs", "d.txt", "--docs-format", "libmultilabel", "--embed",
                  "e.txt", "--padding", "batch", "--shape", "filter_sizes=2+4", "--shape", "l=9",
                  "--variant", "simd,reference", "--blas", "libx.so", "--seed", "5"});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  EXPECT_EQ(options->docs, "d.txt");
  EXPECT_EQ(options->docs_format, DocsFormat::kLibMultiLabel);
  EXPECT_EQ(options->embed, "e.txt");
  EXPECT_EQ(options->padding, Padding::kBatch);
  EXPECT_THAT(options->shape.filter_sizes, ElementsAre(2U, 4U));
  EXPECT_EQ(options->shape.l, 9U);
  EXPECT_THAT(options->variants, ElementsAre("simd", "reference"));
  EXPECT_EQ(options->blas, "libx.so");
  EXPECT_EQ(options->seed, 5U);
}

TEST(Options, MeasurementAsTyped) {
  const auto options =
      options_of({"--pin", "0,2-3", "--events", "flops,cpu/a=1,b=2/", "--events", "llc-miss",
                  "--threads", "3", "--time-budget=0.5", "--passes", "2", "--no-ladder"});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  EXPECT_THAT(options->pin, ElementsAre(0U, 2U, 3U));
  EXPECT_THAT(options->events, ElementsAre("flops", "cpu/a=1,b=2/", "llc-miss"));
  EXPECT_EQ(options->threads, std::vector<int>{3});
  EXPECT_EQ(options->time_budget_s, 0.5);
  EXPECT_EQ(options->passes, 2U);
  EXPECT_FALSE(options->ladder);
}

TEST(Options, ReportAsTyped) {
  const auto options = options_of(
      {"--format", "markdown", "-o", "out.md", "--require", "optimal-blas,counters", "-v"});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  EXPECT_EQ(options->format, Format::kMarkdown);
  EXPECT_EQ(options->output, "out.md");
  EXPECT_TRUE(options->require_optimal_blas);
  EXPECT_TRUE(options->require_counters);
  EXPECT_FALSE(options->quiet);
  EXPECT_TRUE(options_of({"-q"})->quiet);
  EXPECT_EQ(options_of({"--output=-"})->output, "");
  EXPECT_TRUE(options_of({"--require", "counters"})->require_counters);
  EXPECT_FALSE(options_of({"--require", "counters"})->require_optimal_blas);
}

TEST(Options, CommandLineIsKeptForTheReport) {
  EXPECT_THAT(options_of({"--pin", "0"})->command, ElementsAre("hwprof", "--pin", "0"));
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

TEST(Help, FitsInto100ColumnsAndSaysTheDefaultOfEveryOption) {
  const std::string text = text_of({"profile", "--help"});
  std::istringstream lines(text);
  std::size_t options = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    if (line.rfind("  -", 0) == 0) ++options;
  }
  std::size_t defaults = 0;
  for (std::size_t at = 0; (at = text.find("Default:", at)) != std::string::npos; ++at) ++defaults;
  EXPECT_GE(options, 28U);
  EXPECT_EQ(defaults, options - 1);  // all but --help
}

}  // namespace
}  // namespace hwprof::cli
