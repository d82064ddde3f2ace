// Samples by line: made-up samples, calls and lines.
#include "src/observe/samples/line_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "src/observe/samples/sample_lines.h"

namespace hwprof::observe {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(UserFrame, IsTheInnermostThatIsOfNoPackage) {
  const report::SourceLine internals{"<__array_function__ internals>", "dot", 180},
      package{"/usr/lib/python3/dist-packages/numpy/linalg/linalg.py", "svd", 1},
      user{"/home/me/train.py", "step", 7}, frozen{"<frozen importlib._bootstrap>", "_load", 1};
  EXPECT_EQ(user_frame({&internals, &package, &user}), 2U);
  EXPECT_EQ(user_frame({&user, &package}), 0U);
  EXPECT_EQ(user_frame({&frozen, &package}), 1U);
  EXPECT_EQ(user_frame({&frozen}), 0U);
  // What was typed, and what a package makes of text.
  const report::SourceLine typed{"<string>", "<module>", 1};
  EXPECT_EQ(user_frame({&internals, &typed}), 1U);
  EXPECT_EQ(user_frame({&typed, &package}), 1U);
}

// Native stacks are numbers here, of which some have a compiled line.
class LineTallyTest : public ::testing::Test {
 protected:
  std::uint32_t stack(int line) {
    auto code = std::make_shared<PythonCode>();
    code->file = "x.py";
    code->function = "f";
    return stacks_.number({{code, line, 0}});
  }
  PythonRead read(std::uint32_t stack, std::uint64_t read_ns) {
    return {.why_not = NoLine::kNone, .stack = stack, .read_ns = read_ns};
  }
  // A native stack at a line of C.
  std::uint32_t compiled(int line) {
    const auto number = static_cast<std::uint32_t>(100 + compiled_.size());
    compiled_[number] = lines_.number({"x.c", "g", line, 0, report::Language::kNative});
    return number;
  }
  LineStack lines_of(const LineSite& site) {
    LineStack found;
    if (const auto line = compiled_.find(site.native); line != compiled_.end()) {
      found.lines.push_back(line->second);
      found.own_code = !site.in_call;
    }
    for (const StackedLine& one : stacks_.lines_of(site.python)) found.lines.push_back(one.line);
    return found;
  }
  LineProfile finish() {
    return tally_.finish({.what_ran =
                              [](std::uint32_t native) {
                                return std::string(native == kWait ? kWaiting : "lib.so");
                              },
                          .lines_of = [this](const LineSite& site) { return lines_of(site); },
                          .lines = lines_});
  }
  static const LineSamples& line(const LineProfile& profile, int number) {
    for (const LineSamples& line : profile.lines)
      if (line.line.line == number) return line;
    static const LineSamples none;
    return none;
  }

  SourceLines lines_;
  LineStacks stacks_{lines_};
  std::map<std::uint32_t, std::uint32_t> compiled_;
  LineTally tally_;
  static constexpr std::uint32_t kPlace = 5, kWait = 9;  // native stacks
};

TEST_F(LineTallyTest, GivesASampleToTheCallThatItLiesIn) {
  tally_.add(kPlace, 1, 1, 1000, read(stack(10), 1010));
  tally_.add(kPlace, 1, 1, 2000, read(stack(10), 2010));
  tally_.call({.thread = 1, .began_ns = 900, .ended_ns = 1500, .kind = 7});
  tally_.settle(3000);
  const LineProfile profile = finish();
  EXPECT_EQ(line(profile, 10).self, 2);
  EXPECT_EQ(line(profile, 10).calls.at(7).samples, 1);
  EXPECT_DOUBLE_EQ(line(profile, 10).calls.at(7).inverse_ns, 1 / 600.0);
  EXPECT_EQ(line(profile, 10).parts.at("lib.so"), 1);
}

TEST_F(LineTallyTest, TakesNoLineThatWasReadWhenTheCallWasOver) {
  tally_.add(kPlace, 1, 1, 1000, read(stack(10), 1010));
  tally_.add(kPlace, 1, 1, 2000, read(stack(11), 2900));
  tally_.call({.thread = 1, .began_ns = 900, .ended_ns = 1500, .kind = 7});
  tally_.call({.thread = 1, .began_ns = 1900, .ended_ns = 2500, .kind = 7});
  const LineProfile profile = finish();
  // Like the other calls of its kind.
  EXPECT_EQ(line(profile, 10).self, 2);
  EXPECT_EQ(line(profile, 11).self, 0);
}

TEST_F(LineTallyTest, GivesACallTheStackThatItCameFrom) {
  tally_.add(kPlace, 1, 1, 2000, read(stack(11), 2900));  // when it was over
  tally_.add(kWait, 1, 2, 2100,
             {.why_not = NoLine::kWorker, .read_ns = 2900, .others = {{1, stack(11)}}});
  tally_.call({.thread = 1, .began_ns = 1900, .ended_ns = 2500, .kind = 7, .python = stack(10)});
  const LineProfile profile = finish();
  EXPECT_EQ(line(profile, 10).self, 2);
  EXPECT_EQ(line(profile, 11).self, 0);
}

TEST_F(LineTallyTest, LeavesOutACallInWhichNobodySawTheThread) {
  tally_.add(kPlace, 1, 1, 2000, read(stack(11), 2900));
  tally_.call({.thread = 1, .began_ns = 1900, .ended_ns = 2500, .kind = 7});
  const LineProfile profile = finish();
  EXPECT_THAT(profile.lines, IsEmpty());
  EXPECT_EQ(profile.without.at("read too late to be sure"), 1);
}

TEST_F(LineTallyTest, GivesWorkersToTheOpenCallAndElseSaysThatTheyWait) {
  const auto worker = [&](std::uint64_t time_ns, std::uint32_t native) {
    tally_.add(native, 1, 2, time_ns,
               {.why_not = NoLine::kWorker, .read_ns = time_ns + 5, .others = {{1, stack(10)}}});
  };
  worker(1000, kWait);  // in the call: whatever it does
  worker(3000, kWait);  // outside
  worker(4000, kPlace);
  tally_.call({.thread = 1, .began_ns = 900, .ended_ns = 1500, .kind = 7});
  const LineProfile profile = finish();
  EXPECT_EQ(line(profile, 10).calls.at(7).samples, 1);
  EXPECT_EQ(line(profile, 10).calls.at(7).own_samples, 0);
  EXPECT_EQ(line(profile, 10).parts.at("lib.so"), 1);
  EXPECT_EQ(profile.without.at("worker threads that waited"), 1);
}

TEST_F(LineTallyTest, GivesTheInnerOfTwoCallsTheSample) {
  tally_.add(kPlace, 1, 1, 1000, read(stack(10), 1010));
  tally_.call({.thread = 1, .began_ns = 950, .ended_ns = 1400, .kind = 8});
  tally_.call({.thread = 1, .began_ns = 900, .ended_ns = 1500, .kind = 7});
  const LineProfile profile = finish();
  EXPECT_THAT(line(profile, 10).calls, SizeIs(1));
  EXPECT_EQ(line(profile, 10).calls.at(8).samples, 1);
}

TEST_F(LineTallyTest, CountsEverySampleInOneStack) {
  const std::uint32_t ten = stack(10), eleven = stack(11);
  tally_.add(kPlace, 1, 1, 1000, read(ten, 1010));
  tally_.add(kPlace, 1, 1, 2000, read(ten, 2010));
  tally_.add(kPlace, 1, 1, 4000, read(eleven, 9000));  // read when the call was over
  tally_.add(kPlace, 1, 1, 5000, {.why_not = NoLine::kLate, .stack = eleven, .read_ns = 9500});
  tally_.add(kWait, 1, 2, 1200, {.why_not = NoLine::kWorker, .others = {{1, ten}}});
  tally_.add(kWait, 1, 2, 7000, {.why_not = NoLine::kWorker, .others = {{1, ten}}});
  tally_.add(kPlace, 3, 3, 7500, {.why_not = NoLine::kNotPython});
  tally_.call({.thread = 1, .began_ns = 900, .ended_ns = 1500, .kind = 7});
  tally_.call({.thread = 1, .began_ns = 3900, .ended_ns = 4500, .kind = 7});
  using Stacks = decltype(LineProfile::stacks);
  EXPECT_EQ(finish().stacks,
            (Stacks{{{kPlace, ten}, 2}, {{kPlace, 0}, 3}, {{kWait, ten}, 1}, {{kWait, 0}, 1}}));
}

TEST_F(LineTallyTest, CountsWhatHasNoLine) {
  tally_.add(kPlace, 1, 1, 1000, {.why_not = NoLine::kNotPython});
  tally_.add(kPlace, 1, 1, 2000, {.why_not = NoLine::kLate, .stack = stack(10), .read_ns = 5000});
  const LineProfile profile = finish();
  EXPECT_EQ(profile.samples, 2);
  EXPECT_EQ(profile.with_line, 0);
  EXPECT_EQ(profile.without.at("system libraries, and code without line information"), 1);
  EXPECT_EQ(profile.without.at("read too late to be sure"), 1);
}

TEST_F(LineTallyTest, GivesACompiledLineItsOwnCodeAndItsCalls) {
  const PythonRead none{.why_not = NoLine::kNotPython};
  tally_.add(compiled(30), 1, 1, 1000, none);
  tally_.add(compiled(31), 1, 1, 2000, none);
  tally_.add(compiled(32), 1, 2, 2000, none);  // another thread, with work of its own
  tally_.call({.thread = 1, .began_ns = 1900, .ended_ns = 2500, .kind = 7});
  const LineProfile profile = finish();
  EXPECT_EQ(line(profile, 30).parts.at(kOwnCode), 1);
  EXPECT_EQ(line(profile, 31).calls.at(7).own_samples, 1);
  EXPECT_THAT(line(profile, 31).parts, IsEmpty());
  EXPECT_EQ(line(profile, 32).parts.at(kOwnCode), 1);
  EXPECT_EQ(profile.with_line, 3);
}

TEST_F(LineTallyTest, GivesAWorkerWithoutALineToTheOpenCallOfItsProcess) {
  const PythonRead none{.why_not = NoLine::kNotPython};
  tally_.add(compiled(31), 1, 1, 2000, none);
  tally_.add(kWait, 1, 2, 2100, none);
  tally_.add(kPlace, 9, 9, 2100, none);  // of another process
  tally_.add(kWait, 1, 2, 3000, none);   // when the call was over
  // Short ones in which only the worker was sampled: like those in which the caller was.
  tally_.add(kPlace, 1, 2, 4050, none);
  tally_.call({.thread = 1, .began_ns = 1900, .ended_ns = 2500, .kind = 7});
  tally_.call({.thread = 1, .began_ns = 4000, .ended_ns = 4100, .kind = 7});
  const LineProfile profile = finish();
  EXPECT_EQ(line(profile, 31).calls.at(7).samples, 3);
  EXPECT_EQ(line(profile, 31).calls.at(7).own_samples, 1);
  EXPECT_EQ(profile.without.at("worker threads that waited"), 1);
  EXPECT_EQ(profile.without.at("system libraries, and code without line information"), 1);
}

TEST_F(LineTallyTest, GivesAThreadItsOwnCallWhateverElseIsOpen) {
  const PythonRead none{.why_not = NoLine::kNotPython};
  tally_.add(compiled(31), 1, 1, 2000, none);
  tally_.add(compiled(32), 1, 2, 2000, none);
  tally_.call({.thread = 1, .began_ns = 1900, .ended_ns = 2500, .kind = 7});
  tally_.call({.thread = 2, .began_ns = 1900, .ended_ns = 2600, .kind = 8});
  const LineProfile profile = finish();
  EXPECT_EQ(line(profile, 31).calls.at(7).samples, 1);
  EXPECT_EQ(line(profile, 32).calls.at(8).samples, 1);
  EXPECT_THAT(line(profile, 31).calls, SizeIs(1));
}

TEST_F(LineTallyTest, PutsACompiledLineUnderTheLineOfPythonThatCalledIt) {
  tally_.add(compiled(30), 1, 1, 1000, read(stack(10), 1010));
  tally_.add(kPlace, 1, 1, 2000, read(stack(10), 2010));
  const LineProfile profile = finish();
  EXPECT_EQ(line(profile, 30).self, 1);
  EXPECT_EQ(line(profile, 30).total, 1);
  EXPECT_EQ(line(profile, 10).self, 1);
  EXPECT_EQ(line(profile, 10).total, 2);
  EXPECT_EQ(line(profile, 30).line.language, report::Language::kNative);
}

}  // namespace
}  // namespace hwprof::observe
