// Real children: rung_main stands for hwprof. Speeds are compared with nothing here; what is
// checked is which rungs there are, what they are called and what is left behind.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "src/base/spawn.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/ladder/blocks.h"
#include "src/blas/ladder/ladder.h"
#include "src/blas/ladder/results.h"
#include "src/blas/ladder/rung.h"
#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::chrono::steady_clock::time_point in(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

std::size_t open_descriptors() {
  const auto folder = fs::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

void expect_nothing_left(std::size_t descriptors_before) {
  EXPECT_EQ(open_descriptors(), descriptors_before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "a child was not reaped";
}

class ChildOutputTest : public testing::Test {
 protected:
  void TearDown() override { expect_nothing_left(before_); }
  static Result<ChildOutput> run(const std::vector<std::string>& arguments, milliseconds time) {
    return child_output(RUNG_MAIN, arguments, {"SOME=thing"}, in(time));
  }
  std::size_t before_ = open_descriptors();
};

TEST_F(ChildOutputTest, PassesTheExitCodeOn) {
  const auto output = run({"exit", "7"}, milliseconds(60'000));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 7);
  EXPECT_FALSE(output->timed_out);
  EXPECT_EQ(output->out, "");
}

TEST_F(ChildOutputTest, ReportsASignalAs128PlusItsNumber) {
  const auto output = run({"raise", std::to_string(SIGILL)}, milliseconds(60'000));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 128 + SIGILL);
}

TEST_F(ChildOutputTest, KillsAChildThatHangs) {
  const auto output = run({"hang"}, milliseconds(50));
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->timed_out);
  EXPECT_EQ(output->exit_code, 128 + SIGKILL);
}

TEST_F(ChildOutputTest, KillsAChildThatHangsWithItsOutputClosed) {
  const auto output = run({"close-and-hang"}, milliseconds(50));
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->timed_out);
}

TEST_F(ChildOutputTest, DoesNotReadEndlessOutput) {
  const auto output = run({"talk"}, milliseconds(200));
  ASSERT_TRUE(output);
  EXPECT_LT(output->out.size(), 128U * 1024U);
}

TEST_F(ChildOutputTest, GivesTheChildItsEnvironmentAndNoDescriptor) {
  const auto output = run({"show"}, milliseconds(60'000));
  ASSERT_TRUE(output);
  // Only what this process was itself started with can have passed.
  std::string expected = "SOME=thing\n0 1 2";
  for (int fd = 3; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags != -1 && (flags & FD_CLOEXEC) == 0) expected += fmt::format(" {}", fd);
  }
  EXPECT_EQ(output->out, fmt::format("{}\n", expected));
}

TEST_F(ChildOutputTest, SaysThatAProgramCannotBeStarted) {
  const auto output = child_output("/no/such/program", {}, {}, in(milliseconds(1000)));
  ASSERT_FALSE(output);
  EXPECT_THAT(output.error().what, HasSubstr("cannot start /no/such/program"));
}

TEST(RungOutput, IsAnErrorUnlessItHoldsNumbers) {
  EXPECT_FALSE(parse_rung_output(""));
  EXPECT_FALSE(parse_rung_output("[1]"));
  EXPECT_FALSE(parse_rung_output(R"({"gflops":1})"));
  EXPECT_FALSE(parse_rung_output(R"({"gflops":"1","peak_fraction":0.5})"));
  EXPECT_EQ(parse_rung_output(R"({"error":"asked for A, the library ran B"})").error().what,
            "asked for A, the library ran B");
  const auto result = parse_rung_output(
      R"({"provider":"openblas","core":"Zen","kernels":"/a","gflops":9.5,"peak_fraction":0.5})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->identity.core, "Zen");
  EXPECT_EQ(result->gflops, 9.5);
  EXPECT_EQ(result->peak_fraction, 0.5);
}

TEST(DenormalOutput, IsAnErrorUnlessItHoldsNumbers) {
  for (const char* wrong :
       {"", "[1]", "{}", R"({"denormal_operands":[1,2,3],"rounds":6})",
        R"({"denormal_operands":[1,2],"denormal_results":[1,2,3],"rounds":6})",
        R"({"denormal_operands":[1,"2",3],"denormal_results":[1,2,3],"rounds":6})",
        R"({"denormal_operands":[1,0,3],"denormal_results":[1,2,3],"rounds":6})",
        R"({"denormal_operands":[1,2,3],"denormal_results":[1,2,3],"rounds":-6})"}) {
    EXPECT_FALSE(parse_denormal_output(wrong)) << wrong;
  }
  EXPECT_EQ(parse_denormal_output(R"({"error":"it has no sgemm_"})").error().what,
            "it has no sgemm_");
  const auto cost = parse_denormal_output(
      R"({"denormal_operands":[1,2,3],"denormal_results":[4,5,6],"rounds":7})");
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->operands, 2);
  EXPECT_EQ(cost->operands_interval.low, 1);
  EXPECT_EQ(cost->results, 5);
  EXPECT_EQ(cost->results_interval.high, 6);
  EXPECT_EQ(cost->rounds, 7U);
}

TEST(DenormalCall, IsOneThatAReplayBounds) {
  report::CallSite site;
  site.symbol = "sgemm_";
  site.shapes = {{.m = 9, .n = 9, .k = 9, .count = 1000},
                 {.m = 64, .n = 8, .k = 16, .count = 5},
                 {.m = 2000, .n = 2000, .k = 2000, .count = 1}};
  EXPECT_THAT(denormal_call(site).error().what, HasSubstr("no shape of sgemm_ is known"));
  site.shapes[1].numbers.denormal_calls = 5;
  site.shapes[1].numbers.denormal_time_ns = 100;
  site.shapes[2].numbers.denormal_calls = 1;
  site.shapes[2].numbers.denormal_time_ns = 50;
  ASSERT_TRUE(denormal_call(site));
  EXPECT_EQ(denormal_call(site)->shape.m, 64U);
  site.shapes[2].numbers.denormal_time_ns = 1e9;
  ASSERT_TRUE(denormal_call(site));
  EXPECT_LT(denormal_call(site)->shape.m, 500U) << "a part of it";
  // What was in the result before is added: nothing that is known here bounds it.
  for (const char* symbol : {"strsm_", "saxpy_", "sger_", "sgemm_batch_", "fftw_execute"}) {
    site.symbol = symbol;
    EXPECT_THAT(denormal_call(site).error().what, HasSubstr("other things than sums of products"));
  }
}

TEST(Results, OfARealLibraryAreRightAndHaveTheSameBitsTwice) {
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library) << library.error().what;
  const report::Results results = check_results(*library);
  EXPECT_EQ(results.right, true) << results.wrong;
  EXPECT_EQ(results.bits.size(), 16U);
  library->set_threads(1);
  EXPECT_EQ(check_results(*library).bits, check_results(*library).bits);
}

TEST(Results, FindTheOneProductThatIsWrong) {
  const auto library = BlasLibrary::load(FAULTY_BLAS);
  ASSERT_TRUE(library) << library.error().what;
  const report::Results results = check_results(*library);
  EXPECT_EQ(results.right, false);
  EXPECT_THAT(results.wrong, testing::StartsWith("sgemm, m=17 n=16 k=15, trans "));
  EXPECT_THAT(results.wrong, HasSubstr("element 17, 1 is "));
}

report::LadderRung summary(const std::vector<Block>& blocks, double highest = 100) {
  report::LadderRung rung;
  summarise(blocks, highest, rung);
  return rung;
}

TEST(Blocks, GiveAnIntervalOnceThereAreThree) {
  EXPECT_EQ(summary({{0.5, 100}}).peak_fraction, 0.5);
  EXPECT_EQ(summary({{0.5, 100}, {0.6, 100}}).peak_fraction_low, std::nullopt);
  const auto three = summary({{0.50, 100}, {0.52, 100}, {0.51, 100}});
  EXPECT_EQ(three.peak_fraction, 0.51);
  // Student's t for two degrees of freedom: 4.303 * 0.0196 / sqrt(3) = 4.9 %.
  EXPECT_NEAR(three.peak_fraction_low.value_or(0), 0.51 / 1.05, 0.001);
  EXPECT_NEAR(three.peak_fraction_high.value_or(0), 0.51 * 1.05, 0.001);
}

// The other thread of the core halves the peak, and narrow kernels hardly.
TEST(Blocks, AreLeftOutWhereThePeakWasNotTheCoresOwn) {
  EXPECT_EQ(summary({{0.9, 55}, {0.5, 100}, {0.5, 99}}).peak_fraction, 0.5);
  EXPECT_EQ(summary({{0.9, 55}}).peak_fraction, 0.9) << "nothing else is there";
}

class LadderTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, value] : blas_environment()) ::unsetenv(name.c_str());
    auto library = BlasLibrary::load("libopenblas.so.0");
    ASSERT_TRUE(library) << library.error().what;
    library_.emplace(*std::move(library));
    identity_ = identify(*library_);
    before_ = open_descriptors();
    options_.program = RUNG_MAIN;
    // The number of rungs must not depend on the machine, nor on sanitizers.
    options_.budget = milliseconds(60'000);
    options_.longest_rung = milliseconds(10'000);
    // Baseline only: which cores run must not depend on the machine either.
    machine_.isa = {};
  }
  void TearDown() override {
    for (const auto& [name, value] : blas_environment()) ::unsetenv(name.c_str());
    if (library_) expect_nothing_left(before_);
  }
  Ladder climb_now(const std::vector<report::InstalledBlas>& installed = {}) {
    return climb(*library_, identity_, installed, machine_, options_);
  }
  // A core that this build offers, every CPU runs and no CPU gets by itself.
  [[nodiscard]] std::string humble_core() const {
    for (const char* name : {"Core2", "Penryn", "Prescott", "cortexa53", "armv8"}) {
      const CoreType* core = find_core_type(Provider::kOpenBlas, name);
      if (core != nullptr && library_->symbol(core->symbol) != nullptr && identity_.core != name) {
        return name;
      }
    }
    return "";
  }

  std::optional<BlasLibrary> library_;
  Identity identity_;
  Machine machine_;
  LadderOptions options_;
  std::size_t before_ = 0;
};

TEST(Rung, OfALibraryWithoutSgemmMakesTheCallsOfTheProgramAlone) {
  const auto calls = [](const std::string& replay) {
    RungTask task;
    task.library = OWN_PRODUCT;
    task.replay = replay;
    return measure_in_child(RUNG_MAIN, task, {}, milliseconds(60'000));
  };
  const auto result = calls("dgemm_:64:64:64:0:10");
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_FALSE(result->peak_fraction);
  EXPECT_FALSE(result->gflops);
  EXPECT_GT(result->calls_fraction.value_or(0), 0);
  EXPECT_GT(result->peak_gflops, 0);
  EXPECT_THAT(result->calls_reason, HasSubstr("no sgemm_"));
  EXPECT_FALSE(result->results.right) << "nothing was checked";

  EXPECT_THAT(calls("dsymm_:64:64:64:0:10").error().what, HasSubstr("it has no dsymm_"));
  EXPECT_THAT(calls("").error().what, HasSubstr("is not a BLAS"));
}

// What the library needs may be where the loader is told to look.
std::vector<std::string> environment_that_loads(std::vector<std::string> environment) {
  if (const char* folders = std::getenv("LD_LIBRARY_PATH")) {
    environment.push_back(fmt::format("LD_LIBRARY_PATH={}", folders));
  }
  return environment;
}

TEST_F(LadderTest, MeasuresWhatDenormalNumbersCostACall) {
  const auto cost_of = [&](const std::string& call) {
    return denormal_cost_in_child(RUNG_MAIN,
                                  {.library = library_->path(),
                                   .cpus = {},
                                   .expected_core = "",
                                   .peak_isa = "",
                                   .denormals = call},
                                  environment_that_loads({}), milliseconds(20'000));
  };
  for (const char* call : {"sgemm_:32:32:32:0:1", "cblas_dgemv:64:1:64:1:1", "ddot_:1:1:300:0:1"}) {
    const auto cost = cost_of(call);
    ASSERT_TRUE(cost) << call << ": " << cost.error().what;
    EXPECT_GE(cost->rounds, 6U);
    EXPECT_GT(cost->operands_interval.low, 0);
    EXPECT_LE(cost->results_interval.low, cost->results);
    EXPECT_GE(cost->results_interval.high, cost->results);
  }
  EXPECT_EQ(cost_of("dgbmv_:4:4:4:0:1").error().what, "dgbmv_ cannot be made again");
  EXPECT_EQ(cost_of("sgemm_:4:4").error().what, "the call cannot be read");
}

TEST_F(LadderTest, MakesTheCallsOfAProgramAgain) {
  options_.replay = {.calls = {{"sgemv_", {300, 1, 200}, 10}, {"cblas_dsyrk", {50, 50, 60}, 3}},
                     .covered = 0.9,
                     .note = "2 shapes made again"};
  const Ladder ladder = climb_now();
  ASSERT_FALSE(ladder.rungs.empty());
  for (const auto& rung : ladder.rungs) {
    EXPECT_EQ(rung.calls_fraction.has_value(), rung.peak_fraction.has_value()) << rung.reason;
    EXPECT_GT(rung.calls_fraction.value_or(1), 0);
  }
  EXPECT_THAT(ladder.note, HasSubstr("the program's own calls: 2 shapes made again"));

  const auto result = measure_in_child(RUNG_MAIN,
                                       {.library = library_->path(),
                                        .cpus = {},
                                        .expected_core = "",
                                        .peak_isa = "",
                                        .replay = "dgbmv_:4:4:4:0:1"},
                                       environment_that_loads({}), milliseconds(10'000));
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->calls_fraction, std::nullopt);
  EXPECT_EQ(result->calls_reason, "dgbmv_ cannot be made again");
}

TEST_F(LadderTest, EveryCoreTypeOnceAndTheOneFoundWithItsMeasure) {
  const Ladder ladder = climb_now();
  ASSERT_FALSE(ladder.rungs.empty());
  std::vector<std::string> cores;
  double last = 1e9;
  for (const auto& rung : ladder.rungs) {
    EXPECT_EQ(rung.library, library_->path());
    EXPECT_EQ(rung.provider, Provider::kOpenBlas);
    EXPECT_EQ(rung.gflops.has_value(), rung.reason.empty()) << rung.core << rung.reason;
    EXPECT_LE(rung.peak_fraction.value_or(0), last) << "fastest first";
    last = rung.peak_fraction.value_or(0);
    if (rung.as_found) {
      EXPECT_EQ(rung.core, identity_.core);
      EXPECT_EQ(rung.setting, "as found");
      ASSERT_TRUE(rung.gflops) << rung.reason;
      EXPECT_GT(*rung.gflops, 0);
    }
    cores.push_back(rung.core);
  }
  EXPECT_EQ(std::count_if(ladder.rungs.begin(), ladder.rungs.end(),
                          [](const auto& rung) { return rung.as_found; }),
            1);
  std::sort(cores.begin(), cores.end());
  EXPECT_EQ(std::adjacent_find(cores.begin(), cores.end()), cores.end()) << "a core twice";
  if (!humble_core().empty()) {
    EXPECT_THAT(cores, testing::Contains(humble_core()));
  }
}

// Numbers of threads do not matter on one thread.
TEST_F(LadderTest, AVariableThatItDoesNotReadNeedsNoRungOfItsOwn) {
  for (const char* name :
       {"NVPL_BLAS_DEBUG_CPU_TYPE", "MKL_DEBUG_CPU_TYPE", "OPENBLAS_NUM_THREADS"})
    ::setenv(name, "1", 1);
  for (const auto& rung : climb_now().rungs) EXPECT_NE(rung.setting, "auto");
}

TEST_F(LadderTest, SeparatesTheEnvironmentFromTheChoiceOfTheLibrary) {
  const std::string humble = humble_core();
  if (humble.empty()) GTEST_SKIP() << "this OpenBLAS is built for one CPU";
  ::setenv("OPENBLAS_CORETYPE", humble.c_str(), 1);
  const std::string chosen = identity_.core;  // loaded before: the choice of the library
  identity_.core = humble;
  const Ladder ladder = climb_now();
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& rung : ladder.rungs) {
    if (rung.gflops) found.emplace_back(rung.setting, rung.core);
  }
  EXPECT_THAT(found, testing::Contains(testing::Pair("as found", humble)));
  EXPECT_THAT(
      found, testing::Contains(testing::Pair(fmt::format("OPENBLAS_CORETYPE={}", humble), humble)));
  EXPECT_THAT(found, testing::Contains(testing::Pair("auto", chosen)));
}

TEST_F(LadderTest, MeasuresOtherInstalledLibrariesAndSaysWhyNot) {
  const std::string missing = "/no/such/libblas.so.3";
  std::vector<report::InstalledBlas> installed(2);
  installed[0].path = missing;
  installed[0].provider = Provider::kBlis;
  installed[1].path = library_->path();
  installed[1].provider = Provider::kOpenBlas;
  std::string reference;
  for (const auto& other : installed_blas()) {
    if (other.provider == Provider::kReference) {
      installed.push_back(other);
      reference = other.path;
    }
  }
  const Ladder ladder = climb_now(installed);
  int itself = 0;
  for (const auto& rung : ladder.rungs) {
    if (rung.library == missing) {
      EXPECT_FALSE(rung.gflops);
      EXPECT_THAT(rung.reason, HasSubstr("No such file"));
    }
    if (rung.library == reference) {
      EXPECT_EQ(rung.provider, Provider::kReference);
      EXPECT_EQ(rung.vector_class, VectorClass::kScalar);
      EXPECT_TRUE(rung.gflops) << rung.reason;
    }
    if (rung.library == library_->path() && rung.setting == "auto") ++itself;
  }
  EXPECT_EQ(itself, 0);
  EXPECT_EQ(ladder.rungs.back().library, missing) << "failed ones stand last";
}

TEST_F(LadderTest, FastRungsAreMeasuredOftenEnoughForAnInterval) {
  const Ladder ladder = climb_now();
  const auto& best = ladder.rungs.front();
  ASSERT_TRUE(best.peak_fraction_low && best.peak_fraction_high);
  EXPECT_LE(*best.peak_fraction_low, *best.peak_fraction);
  EXPECT_GE(*best.peak_fraction_high, *best.peak_fraction);
  EXPECT_EQ(best.results.right, true) << best.results.wrong;
}

TEST_F(LadderTest, OwnOpenBlasIsARungUnlessTheSameIsThereAlready) {
  options_.own = {library_->path(), fs::path(library_->path()).parent_path(), ""};
  Ladder ladder = climb_now();
  EXPECT_TRUE(std::none_of(ladder.rungs.begin(), ladder.rungs.end(),
                           [](const auto& rung) { return rung.own; }));
  options_.own.path = FAULTY_BLAS;
  ladder = climb_now();
  const auto own = std::find_if(ladder.rungs.begin(), ladder.rungs.end(),
                                [](const auto& rung) { return rung.own; });
  ASSERT_NE(own, ladder.rungs.end());
  EXPECT_TRUE(own->gflops) << own->reason;
  EXPECT_EQ(own->results.right, false);
  options_.own = {"", "", "none"};
  EXPECT_EQ(climb_now().own_reason, "none");
}

TEST_F(LadderTest, InterfaceOfTheSameKernelsIsNotARungOfItsOwn) {
  for (const auto& other : installed_blas()) {
    if (other.path == library_->path()) continue;
    const auto interface = BlasLibrary::load(other.path);
    if (!interface || identify(*interface).kernels != identity_.kernels) continue;
    for (const auto& rung : climb_now({other}).rungs) EXPECT_EQ(rung.library, library_->path());
    return;
  }
  GTEST_SKIP() << "no second name of this OpenBLAS is installed";
}

TEST_F(LadderTest, RefusesACoreThatTheLibraryReplaces) {
  ::setenv("OPENBLAS_CORETYPE", "NoSuchCore", 1);
  const auto output = child_output(
      RUNG_MAIN, rung_arguments({library_->path(), {}, "NoSuchCore", ""}),
      environment_that_loads({"OPENBLAS_CORETYPE=NoSuchCore"}), in(milliseconds(60'000)));
  ASSERT_TRUE(output);
  const auto result = parse_rung_output(output->out);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("asked for NoSuchCore, the library ran "));
}

TEST_F(LadderTest, KeepsWithinItsBudgetAndNamesWhatItLeftOut) {
  options_.budget = milliseconds(0);
  const Ladder ladder = climb_now();
  EXPECT_TRUE(ladder.rungs.empty());
  EXPECT_THAT(ladder.note, HasSubstr("not measured within 0 ms: "));
  EXPECT_THAT(ladder.note, HasSubstr("as found"));
}

TEST_F(LadderTest, RungIsAbsentWithTheReasonWhenItsChildFails) {
  options_.program = "/bin/false";
  for (const auto& rung : climb_now().rungs) {
    EXPECT_FALSE(rung.gflops);
    EXPECT_EQ(rung.reason, "ended with exit code 1 and no result");
  }
  options_.program = CRASHING_MAIN;
  const Ladder crashed = climb_now();
  ASSERT_FALSE(crashed.rungs.empty());
  EXPECT_THAT(crashed.rungs.front().reason, HasSubstr("crashed: signal 4 (Illegal instruction)"));
}

}  // namespace
}  // namespace hwprof::blas
