// Samples a child whose hot loop is known. Skipped where the kernel lets nobody sample.
#include "src/observe/samples/sampling.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "src/blas/evidence/executed.h"

namespace hwprof::observe {
namespace {

using ::testing::HasSubstr;

// A command that waits until release().
class Child {
 public:
  explicit Child(std::vector<std::string> command) {
    EXPECT_EQ(::pipe2(go_.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      char byte = 0;
      if (::read(go_[0], &byte, 1) != 1) ::_exit(126);
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, STDOUT_FILENO);
      std::vector<char*> argv;
      for (std::string& word : command) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!ended_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(go_[0]);
    ::close(go_[1]);
  }
  [[nodiscard]] int pid() const { return pid_; }
  void release() { EXPECT_EQ(::write(go_[1], "x", 1), 1); }
  bool ended() {
    ended_ = ended_ || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    return ended_;
  }

 private:
  std::array<int, 2> go_{};
  pid_t pid_ = -1;
  bool ended_ = false;
};

void drain_until(Sampling& sampling, Child& child) {
  while (!child.ended()) {
    std::vector<pollfd> polled;
    for (const int fd : sampling.descriptors()) polled.push_back({fd, POLLIN, 0});
    ::poll(polled.data(), polled.size(), 20);
    sampling.drain();
  }
}

class SamplingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto tried = Sampling::open(::getpid(), false, {}); !tried) {
      GTEST_SKIP() << tried.error().what;
    }
  }
  static SampleProfile sample(std::vector<std::string> command,
                              const SamplingOptions& options = {}) {
    Child child(std::move(command));
    auto sampling = Sampling::open(child.pid(), true, options);
    EXPECT_TRUE(sampling) << sampling.error().what;
    if (!sampling) return {};
    child.release();
    drain_until(*sampling, child);
    return sampling->finish();
  }
};

double fraction(const SampleProfile& profile, const std::string& path, const std::string& symbol,
                LoopClass loop) {
  double samples = 0;
  for (const HotSpot& spot : profile.spots) {
    if (spot.path == path && spot.symbol == symbol && spot.loop.width == loop.width &&
        spot.loop.fma == loop.fma) {
      samples += static_cast<double>(spot.samples);
    }
  }
  return samples / static_cast<double>(profile.samples);
}

std::string describe(const SampleProfile& profile) {
  std::string text;
  for (const HotSpot& spot : profile.spots) {
    text += std::to_string(spot.samples) + ' ' + spot.path + ' ' + spot.symbol + ' ' +
            std::string(to_text(spot.loop.width)) + '\n';
  }
  for (const std::string& note : profile.notes) text += note + '\n';
  return text;
}

TEST_F(SamplingTest, FindsTheHotLoopAndItsWidth) {
  for (const char* path : {HOT_LOOPS, HOT_LOOPS_STATIC}) {
    for (const auto& [name, loop] :
         {std::pair{"loop_128_mul_add", LoopClass{LoopWidth::k128, false}},
          std::pair{"loop_scalar_mul_add", LoopClass{LoopWidth::kScalar, false}},
          std::pair{"loop_integer", LoopClass{LoopWidth::kNoArithmetic, false}}}) {
      const SampleProfile profile = sample({path, name, "400"});
      EXPECT_GE(profile.samples, 40U);
      EXPECT_GE(fraction(profile, path, name, loop), 0.9) << name << '\n' << describe(profile);
      EXPECT_EQ(profile.hz, 997);
    }
  }
}

TEST_F(SamplingTest, JudgesTheLoopsOfAStrippedStaticProgram) {
  const SampleProfile profile = sample({HOT_LOOPS_STRIPPED, "loop_128_mul_add", "400"});
  EXPECT_GE(fraction(profile, HOT_LOOPS_STRIPPED, "", {LoopWidth::k128, false}), 0.9)
      << describe(profile);
}

// What is freshly touched is told from the system calls around it, and from the work of a loop.
TEST_F(SamplingTest, TellsPageFaultsFromSystemCalls) {
  const auto in = [](const SampleProfile& profile, const std::string& path,
                     const std::string& symbol) {
    double samples = 0;
    for (const HotSpot& spot : profile.spots)
      if (spot.path == path && spot.symbol.find(symbol) != std::string::npos)
        samples += static_cast<double>(spot.samples);
    return samples / static_cast<double>(profile.samples);
  };
  const SampleProfile touching = sample({HOT_LOOPS, "loop_integer", "600", "touch"});
  if (!touching.kernel) GTEST_SKIP() << "the kernel's own time is not sampled";
  EXPECT_GE(in(touching, kFaultCode, "touch"), 0.3) << describe(touching);
  EXPECT_GE(in(touching, kKernelCode, "munmap"), 0.02) << describe(touching);
  EXPECT_EQ(in(touching, kFaultCode, "munmap"), 0) << describe(touching);
  EXPECT_EQ(in(touching, kKernelCode, "touch"), 0) << describe(touching);
  const SampleProfile computing = sample({HOT_LOOPS, "loop_integer", "400"});
  EXPECT_LE(in(computing, kFaultCode, ""), 0.05) << describe(computing);
}

TEST_F(SamplingTest, FollowsChildrenThatExecute) {
  for (const char* how : {"fork", "exec"}) {
    const SampleProfile profile = sample({HOT_LOOPS, "loop_128_mul_add", "400", how});
    EXPECT_GE(fraction(profile, HOT_LOOPS, "loop_128_mul_add", {LoopWidth::k128, false}), 0.9)
        << how << '\n'
        << describe(profile);
  }
}

TEST_F(SamplingTest, CountsTheThreadsInTheHotLoop) {
  const SampleProfile profile = sample({HOT_LOOPS, "loop_128_mul_add", "600", "threads", "3"});
  const report::Executed executed = blas::executed(profile);
  ASSERT_FALSE(executed.loops.empty());
  EXPECT_EQ(executed.loops.front().library, HOT_LOOPS);
  EXPECT_EQ(executed.loops.front().symbol, "loop_128_mul_add");
  EXPECT_EQ(executed.loops.front().width, "128");
  EXPECT_EQ(executed.threads(), 3) << describe(profile);
}

TEST_F(SamplingTest, ReadsGeneratedCodeFromTheLivingProcess) {
  const LoopClass loop{LoopWidth::k128, false};
  const SampleProfile unnamed = sample({HOT_LOOPS, "loop_128_mul_add", "400", "generate"});
  EXPECT_GE(fraction(unnamed, kGeneratedCode, "", loop), 0.9) << describe(unnamed);
  const SampleProfile named = sample({HOT_LOOPS, "loop_128_mul_add", "400", "map"});
  EXPECT_GE(fraction(named, kGeneratedCode, "jit_kernel<float>", loop), 0.9) << describe(named);
}

TEST_F(SamplingTest, SaysWhenAFileIsGoneAndJudgesWhatWasMapped) {
  const std::string copy = testing::TempDir() + "hwprof_gone_" + std::to_string(::getpid());
  ASSERT_EQ(std::system(("cp " HOT_LOOPS " " + copy).c_str()), 0);
  Child child({copy, "loop_128_mul_add", "500"});
  auto sampling = Sampling::open(child.pid(), true, {});
  ASSERT_TRUE(sampling);
  child.release();
  ::usleep(100'000);  // it runs, and nothing was drained
  ASSERT_EQ(::unlink(copy.c_str()), 0);
  drain_until(*sampling, child);
  const SampleProfile profile = sampling->finish();
  std::uint64_t judged = 0;
  for (const HotSpot& spot : profile.spots) {
    if (spot.path == copy && spot.loop.width == LoopWidth::k128) judged += spot.samples;
  }
  EXPECT_GE(judged, profile.samples * 9 / 10) << describe(profile);
  // Root gets at the file itself, by /proc/PID/map_files.
  if (::geteuid() != 0) {
    EXPECT_THAT(describe(profile), HasSubstr("cannot be read"));
  }
}

TEST_F(SamplingTest, AttachesToAllThreadsOfARunningProcess) {
  Child child({HOT_LOOPS, "loop_128_mul_add", "1200", "threads", "2"});
  child.release();
  ::usleep(300'000);
  auto sampling = Sampling::open(child.pid(), false, {});
  ASSERT_TRUE(sampling) << sampling.error().what;
  drain_until(*sampling, child);
  const SampleProfile profile = sampling->finish();
  EXPECT_GE(fraction(profile, HOT_LOOPS, "loop_128_mul_add", {LoopWidth::k128, false}), 0.9)
      << describe(profile);
  EXPECT_EQ(blas::executed(profile).threads(), 2);
}

TEST_F(SamplingTest, GivesStacksAndLinesWhenAsked) {
  const SampleProfile profile =
      sample({HOT_LOOPS, "loop_128_mul_add", "400"}, {.hz = 500, .stacks = true, .lines = true});
  EXPECT_EQ(profile.hz, 500);
  std::uint64_t in_stacks = 0, with_main = 0;
  for (const report::FoldedStack& stack : profile.stacks) {
    in_stacks += stack.samples;
    ASSERT_FALSE(stack.frames.empty());
    EXPECT_EQ(stack.frames.front(), "hot_loops_main");
    if (stack.frames.back() == "loop_128_mul_add") with_main += stack.samples;
  }
  EXPECT_EQ(in_stacks, profile.samples);
  EXPECT_GE(with_main, profile.samples * 9 / 10);
}

#if defined(STACK_SHAPES)
TEST_F(SamplingTest, UnwindsCodeWithoutFramePointers) {
  std::uint64_t known = 0, seen = 0;
  const SampleProfile profile =
      sample({STACK_SHAPES, "works", "400"}, {.stacks = true, .unwind = true});
  ASSERT_TRUE(profile.whole_stacks);
  EXPECT_GE(*profile.whole_stacks, 0.95) << describe(profile);
  const std::vector<std::string> tail(21, "works");
  for (const report::FoldedStack& stack : profile.stacks) {
    const auto works_for = std::find(stack.frames.begin(), stack.frames.end(), "works_for");
    seen += stack.samples;
    if (works_for == stack.frames.begin() || works_for == stack.frames.end()) continue;
    const auto deepest = std::search(works_for, stack.frames.end(), tail.begin(), tail.end());
    if (*std::prev(works_for) == "main" && deepest == std::next(works_for)) known += stack.samples;
  }
  EXPECT_EQ(seen, profile.samples);
  EXPECT_GE(known, profile.samples * 9 / 10);
}

TEST_F(SamplingTest, GivesEachSampleToAHook) {
  std::uint64_t given = 0, last_ns = 0;
  SamplingOptions options;
  options.hook = [&](const UnwoundSample& sample) {
    ++given;
    EXPECT_GE(sample.time_ns, last_ns);
    last_ns = sample.time_ns;
    if (sample.stack.frames.empty()) return;
    const UnwoundFrame& hit = sample.stack.frames.front();
    EXPECT_TRUE(hit.interrupted);
    EXPECT_NE(sample.spaces.find(sample.pid, hit.pc), nullptr);
    std::uint64_t top = 0;
    EXPECT_TRUE(sample.memory.word(hit.registers.values[kStackPointer], top));
  };
  const SampleProfile profile = sample({STACK_SHAPES, "works", "200"}, options);
  EXPECT_EQ(given, profile.samples);
  EXPECT_TRUE(profile.stacks.empty());
}
#endif

TEST_F(SamplingTest, RefusesFrequenciesItCannotHold) {
  for (const double hz : {0.0, 0.5, 10'001.0, -1.0}) {
    const auto refused = Sampling::open(::getpid(), false, {.hz = hz});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kUsage);
  }
}

TEST_F(SamplingTest, SaysThatAProcessHasEnded) {
  int pid = 0;
  {
    const Child child({HOT_LOOPS, "loop_integer", "1"});
    pid = child.pid();
  }
  const auto refused = Sampling::open(pid, false, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("has ended"));
}

}  // namespace
}  // namespace hwprof::observe
