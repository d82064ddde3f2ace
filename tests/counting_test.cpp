// Counting for real: software events everywhere, hardware events where there is a PMU.
#include "counters/perf/counting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "counters/machine.h"
#include "counters/machine/affinity.h"
#include "counters/perf/metrics.h"
#include "counters/perf/thread_groups.h"

// Sanitizers touch shadow pages of their own for each page that instrumented code touches.
#define HWPROF_NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))

namespace hwprof {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::size_t kPage = 4096;
constexpr double kStray = 24;  // faults of the runtime around the counted ones
constexpr double kOnce = 1.5;  // above this factor something was counted twice

class Pages {
 public:
  explicit Pages(std::size_t count)
      : count_(count),
        start_(mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0)) {
    madvise(start_, count * kPage, MADV_NOHUGEPAGE);
  }
  ~Pages() { munmap(start_, count_ * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  HWPROF_NO_SANITIZE void touch() const {
    auto* byte = static_cast<volatile char*>(start_);
    for (std::size_t i = 0; i < count_; ++i) byte[i * kPage] = 1;
  }

 private:
  std::size_t count_;
  void* start_;
};

void spin() {
  volatile int sink = 0;
  for (int i = 0; i < 300000; ++i) sink = sink + i;
}

Machine this_machine() { return probe_machine(current_cpu()); }

Counting open_or_die(std::vector<std::string> names, CountingOptions options = {}) {
  auto counting = Counting::open(this_machine(), current_cpu(), names, options);
  EXPECT_TRUE(counting.has_value()) << counting.error().what;
  return *std::move(counting);
}

Tally run(Counting& counting, const std::function<void()>& work, double calls = 1) {
  Tally tally;
  for (std::size_t pass = 0; pass < counting.passes(); ++pass) {
    EXPECT_TRUE(counting.start(pass).has_value());
    work();
    EXPECT_TRUE(counting.stop(pass, tally, calls).has_value());
  }
  return tally;
}

bool may_count_software() {
  Counting counting = open_or_die({"page-faults"});
  return counting.passes() > 0;
}

#define SKIP_WITHOUT_SOFTWARE_EVENTS() \
  if (!may_count_software()) GTEST_SKIP() << "this user may not count even software events"

// In a process of its own: limits and user ids do not come back. The exit code is the verdict.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Counting, TaskClockRisesAndIsInNanoseconds) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  Counting counting = open_or_die({"task-clock"});
  const auto counts = counting.evaluate(run(counting, spin));
  EXPECT_EQ(counts[0].status, CountStatus::kOk);
  EXPECT_EQ(counts[0].unit, "ns");
  EXPECT_GT(counts[0].value.value_or(0), 0);
  EXPECT_EQ(counts[0].coverage, 1.0);
}

TEST(Counting, TouchingNewPagesFaultsOncePerPage) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  Counting counting = open_or_die({"page-faults", "minor-faults", "major-faults"});
  const Pages pages(1000);
  const auto counts = counting.evaluate(run(counting, [&] { pages.touch(); }));
  EXPECT_GE(*counts[0].value, 1000);
  EXPECT_LE(*counts[0].value, 1000 + kStray);
  EXPECT_EQ(*counts[0].value, *counts[1].value + *counts[2].value);
}

TEST(Counting, ValuesAreForOneCallAndTotalsForAll) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  Counting counting = open_or_die({"page-faults"});
  const Pages pages(1000);
  const auto counts = counting.evaluate(run(
      counting, [&] { pages.touch(); }, 10));
  EXPECT_NEAR(*counts[0].value, 100, kStray / 10);
  EXPECT_GE(*counts[0].total, 1000);
  EXPECT_EQ(counts[0].calls, 10);
}

TEST(Counting, WhatHappensBetweenStopAndStartIsLeftOut) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  Counting counting = open_or_die({"page-faults"});
  const Pages inside(200), outside(5000);
  Tally tally;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(counting.start(0).has_value());
    if (round == 0) inside.touch();
    ASSERT_TRUE(counting.stop(0, tally, 1).has_value());
    outside.touch();
  }
  const double total = *counting.evaluate(tally)[0].total;
  EXPECT_GE(total, 200);
  EXPECT_LE(total, 200 + kStray);
}

// OpenBLAS's workers exist before main: the sum must hold them.
TEST(Counting, AThreadThatExistedBeforeIsInTheSum) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  const Pages pages(3000);
  std::atomic<int> state = 0;
  std::thread worker([&] {
    while (state != 1) std::this_thread::yield();
    pages.touch();
    state = 2;
    while (state != 3) std::this_thread::yield();
  });
  Counting counting = open_or_die({"page-faults"});
  EXPECT_GE(counting.threads(), 2u);
  const Tally tally = run(counting, [&] {
    state = 1;
    while (state != 2) std::this_thread::yield();
  });
  state = 3;
  worker.join();
  const double faults = *counting.evaluate(tally)[0].value;
  EXPECT_GE(faults, 3000);
  EXPECT_LT(faults, 3000 * kOnce);
}

TEST(Counting, AThreadThatEndsWhileCountedKeepsItsCounts) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  const Pages pages(2000);
  std::atomic<bool> go = false;
  std::thread worker([&] {
    while (!go) std::this_thread::yield();
    pages.touch();
  });
  Counting counting = open_or_die({"page-faults"});
  Tally tally = run(counting, [&] {
    go = true;
    worker.join();
  });
  EXPECT_GE(*counting.evaluate(tally)[0].total, 2000);
  ASSERT_TRUE(counting.refresh_threads().has_value());
  ASSERT_TRUE(counting.start(0).has_value());
  ASSERT_TRUE(counting.stop(0, tally, 1).has_value());
  EXPECT_GE(*counting.evaluate(tally)[0].total, 2000);
  EXPECT_LT(*counting.evaluate(tally)[0].total, 2000 * kOnce);
}

TEST(Counting, AThreadBornAfterOpenIsCountedOnceRefreshed) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  Counting counting = open_or_die({"page-faults"});
  const Pages pages(2500);
  std::atomic<int> state = 0;
  std::thread worker([&] {
    while (state != 1) std::this_thread::yield();
    pages.touch();
    state = 2;
  });
  ASSERT_TRUE(counting.refresh_threads().has_value());
  const Tally tally = run(counting, [&] {
    state = 1;
    while (state != 2) std::this_thread::yield();
  });
  worker.join();
  const double faults = *counting.evaluate(tally)[0].value;
  EXPECT_GE(faults, 2500);
  EXPECT_LT(faults, 2500 * kOnce);
}

TEST(Counting, ThreadsBornAndEndedInsideAStretchAreCounted) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  Counting counting = open_or_die({"page-faults"});
  const Pages first(1500), second(1500);
  const Tally tally = run(counting, [&] {
    std::thread outer([&] {
      first.touch();
      std::thread([&] { second.touch(); }).join();
    });
    outer.join();
  });
  const double faults = *counting.evaluate(tally)[0].value;
  EXPECT_GE(faults, 3000) << "needs Linux 5.13: inherit_thread";
  EXPECT_LT(faults, 3000 * kOnce);
}

TEST(Counting, AChildProcessIsNotCounted) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  Counting counting = open_or_die({"page-faults"});
  const Pages pages(20000);
  const Tally tally = run(counting, [&] {
    EXPECT_EQ(in_child([&] {
                pages.touch();
                return 0;
              }),
              0);
  });
  EXPECT_LT(*counting.evaluate(tally)[0].value, 10000);
}

TEST(Counting, UnknownNamesAreUsageErrors) {
  const std::vector<std::string> names = {"cycles", "page-fault"};
  const auto counting = Counting::open(this_machine(), 0, names, {});
  ASSERT_FALSE(counting.has_value());
  EXPECT_EQ(counting.error().fault, Fault::kUsage);
  EXPECT_THAT(counting.error().hint, HasSubstr("page-faults"));
  const auto check = check_event_names(this_machine(), names);
  ASSERT_FALSE(check.has_value());
  EXPECT_EQ(check.error().what, counting.error().what);
}

TEST(Counting, WithoutAPmuHardwareIsUnsupportedAndSoftwareGoesOn) {
  const Machine machine = this_machine();
  if (machine.pmu.present()) GTEST_SKIP() << "this machine has a PMU";
  Counting counting = open_or_die({"cycles", "flops", "llc-miss", "page-faults"});
  const auto counts = counting.evaluate(run(counting, spin));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(counts[i].status, CountStatus::kUnsupported) << counts[i].name;
    EXPECT_EQ(counts[i].value, std::nullopt) << counts[i].name;
    EXPECT_THAT(counts[i].reason, HasSubstr("PMU")) << counts[i].name;
  }
  EXPECT_THAT(counts[3].status, AnyOf(CountStatus::kOk, CountStatus::kDenied));
}

TEST(Counting, NothingToCountIsNoPassAndStillAnswers) {
  Counting counting = open_or_die({});
  EXPECT_EQ(counting.passes(), 0u);
  EXPECT_TRUE(counting.evaluate({}).empty());
  EXPECT_TRUE(counting.refresh_threads().has_value());
}

TEST(Counting, ClosesItsDescriptors) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = descriptors();
  { const Counting counting = open_or_die({"task-clock", "page-faults", "cycles", "flops"}); }
  EXPECT_EQ(descriptors(), before);
}

TEST(Counting, TooFewDescriptorsAreNamedWithWhatIsNeeded) {
  SKIP_WITHOUT_SOFTWARE_EVENTS();
  const int verdict = in_child([] {
    const Machine machine = this_machine();
    const rlimit small{16, 16};
    setrlimit(RLIMIT_NOFILE, &small);
    std::atomic<bool> go = false;
    std::vector<std::thread> workers;
    for (int i = 0; i < 6; ++i)
      workers.emplace_back([&] {
        while (!go) std::this_thread::yield();
      });
    const std::vector<std::string> names = {"task-clock", "page-faults", "minor-faults"};
    // A sanitizer may have a thread of its own.
    const std::string needed =
        std::to_string(names.size() * process_threads().size()) + " file descriptors";
    const auto counting = Counting::open(machine, 0, names, {});
    go = true;
    for (std::thread& worker : workers) worker.join();
    if (!counting || counting->passes() != 0) return 1;
    for (const EventCount& count : counting->evaluate({}))
      if (count.status != CountStatus::kDenied || count.value ||
          count.reason.find(needed) == std::string::npos ||
          count.reason.find("ulimit -n") == std::string::npos)
        return 2;
    return 0;
  });
  EXPECT_EQ(verdict, 0);
}

// perf_event_paranoid 2, the usual level: an ordinary user may count user mode only. What happens
// inside the kernel would then read 0, and must not.
TEST(Counting, AnOrdinaryUserGetsNoZeroForWhatHeMayNotCount) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to stop being root";
  SKIP_WITHOUT_SOFTWARE_EVENTS();  // seccomp
  const int level = this_machine().perf_event_paranoid.value_or(4);
  const int verdict = in_child([&] {
    if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
    const Machine machine = this_machine();
    const std::vector<std::string> names = {"context-switches", "page-faults", "task-clock"};
    auto counting = Counting::open(machine, 0, names, {});
    if (!counting) return 2;
    const Pages pages(100);
    Tally tally;
    for (std::size_t pass = 0; pass < counting->passes(); ++pass) {
      if (!counting->start(pass)) return 3;
      pages.touch();
      usleep(1000);  // a switch
      if (!counting->stop(pass, tally, 1)) return 4;
    }
    const auto counts = counting->evaluate(tally);
    const bool kernel_counted = counts[0].value && *counts[0].value >= 1;
    const bool kernel_denied = !counts[0].value && counts[0].status == CountStatus::kDenied;
    if (level <= 1) return kernel_counted && *counts[1].value >= 100 ? 0 : 5;
    if (!kernel_denied) return 6;
    if (level == 2) {
      if (!counts[1].value || *counts[1].value < 100 || !counts[2].value) return 7;
      return counts[1].reason.find("user mode only") != std::string::npos ? 0 : 8;
    }
    return counts[1].value || counts[1].status != CountStatus::kDenied ? 9 : 0;
  });
  EXPECT_EQ(verdict, 0);
}

TEST(Counting, HardwareCountsArePlausible) {
  const Machine machine = this_machine();
  if (!machine.pmu.present()) GTEST_SKIP() << machine.pmu.reason;
  Counting counting = open_or_die({"cycles", "instructions", "branches"});
  const auto counts = counting.evaluate(run(counting, spin));
  for (const EventCount& count : counts) {
    EXPECT_EQ(count.value.has_value(),
              count.status == CountStatus::kOk || count.status == CountStatus::kScaled)
        << count.name;
    if (!count.value) {
      EXPECT_FALSE(count.reason.empty()) << count.name;
    }
  }
  if (const auto instructions = value_of(counts, "instructions")) {
    EXPECT_GT(*instructions, 300000);
    EXPECT_EQ(counts[1].implausible, "");
  }
}

// More events than any PMU has counters for. Raw codes on arm64: an emulated PMU takes them all.
std::vector<std::string> too_many_events() {
#if defined(__aarch64__)
  return {"cycles", "instructions", "r01", "r02", "r03", "r04", "r05", "r06", "r07"};
#else
  return {"cycles",           "instructions", "branches", "branch-misses", "l1d-miss",
          "l2-miss",          "dtlb-miss",    "stalls",   "flops",         "cache-misses",
          "cache-references", "flops-sp",     "flops-dp", "llc-miss",      "llc-ref"};
#endif
}

TEST(Counting, EnoughPassesScaleNothingAndOnePassScalesToTheSameNumber) {
  const Machine machine = this_machine();
  if (!machine.pmu.present()) GTEST_SKIP() << machine.pmu.reason;
  const auto work = [] {
    for (int i = 0; i < 100; ++i) spin();
  };
  Counting exact = open_or_die(too_many_events());
  const auto counts = exact.evaluate(run(exact, work));
  for (const EventCount& count : counts) {
    if (count.value) {
      EXPECT_EQ(count.status, CountStatus::kOk) << count.name;
      EXPECT_EQ(count.coverage, 1.0) << count.name;
    }
  }
  const auto truth = value_of(counts, "cycles");
  if (!truth) GTEST_SKIP() << counts[0].reason;
  if (exact.passes() < 2) GTEST_SKIP() << "everything fits at once here";

  Counting squeezed = open_or_die(too_many_events(), {.max_passes = 1});
  ASSERT_EQ(squeezed.passes(), 1u);
  const auto scaled = squeezed.evaluate(run(squeezed, work));
  EXPECT_EQ(scaled[0].status, CountStatus::kScaled);
  EXPECT_LT(scaled[0].coverage.value_or(1), 1);
  EXPECT_NEAR(*scaled[0].value / *truth, 1, 0.1);
}

// An emulated PMU opens encodings that it does not count.
TEST(Counting, ANamedHardwareEventIsNeverZeroInWorkThatMustCauseIt) {
  const Machine machine = this_machine();
  if (!machine.pmu.present()) GTEST_SKIP() << machine.pmu.reason;
  Counting counting = open_or_die({"l2-miss", "dtlb-miss", "stalls", "cache-references"});
  const Pages pages(4000);
  for (const EventCount& count : counting.evaluate(run(counting, [&] { pages.touch(); }))) {
    if (count.value) {
      EXPECT_GT(*count.value, 0) << count.name;
    } else {
      EXPECT_FALSE(count.reason.empty()) << count.name;
    }
  }
}

}  // namespace
}  // namespace hwprof
