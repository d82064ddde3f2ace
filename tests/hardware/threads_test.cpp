// More than one thread, more than one CPU: everything that the process executes is counted, and
// nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "counters/machine/affinity.h"
#include "kernels/blas_library.h"
#include "src/base/unique_fd.h"
#include "tests/hardware/guest.h"

namespace hwprof {
namespace {

using guest::count_one;
using guest::in_child;
using guest::spin;

constexpr std::uint64_t kRounds = 5'000'000;
constexpr double kInstructions = 2.0 * kRounds;
// Starting, waking and joining a few threads.
constexpr double kMostAround = 50'000;
// Share of what OpenBLAS workers do, waiting for work, between the edges of hwprof's window and
// those of the oracle's inside it.
constexpr double kMostApart = 0.01;

// User instructions of all that runs on a CPU, whoever it is: what the PMU itself says, past all
// of hwprof's bookkeeping of threads. To be opened as root.
class WholeCpu {
 public:
  explicit WholeCpu(int cpu) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = 1;
    fd_.reset(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0)));
    EXPECT_TRUE(fd_.valid());
  }
  [[nodiscard]] double read() const {
    std::uint64_t value = 0;
    EXPECT_EQ(::read(fd_.get(), &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return static_cast<double>(value);
  }

 private:
  UniqueFd fd_;
};

// All on one CPU: QEMU's count of instructions is one for the whole machine, so that a CPU that
// runs while another stands in user mode is counted on both, a time slice now and then.
class Threads : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(pin_to({0})); }
  void TearDown() override { EXPECT_TRUE(pin_to({0, 1})); }
};

TEST(TwoCpus, OpenBlasWithTwoThreadsIsCountedCompletely) {
  guest::set_paranoid(2);
  in_child([] {
    const WholeCpu first(0), second(1);
    guest::become_user();
    const auto blas =
        BlasLibrary::load("/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0");
    ASSERT_TRUE(blas) << blas.error().what;
    ASSERT_TRUE(blas->set_threads(2));
    constexpr BlasLibrary::Int kN = 256;
    const std::vector<float> a(kN * kN, 1.0F), b(kN * kN, 2.0F);
    std::vector<float> c(kN * kN);
    double of_both = 0, on_first = 0;
    const EventCount counted = count_one("instructions", [&] {
      const double before_first = first.read(), before_second = second.read();
      for (int i = 0; i < 3; ++i)
        blas->sgemm(false, false, kN, kN, kN, 1.0F, a.data(), kN, b.data(), kN, 0.0F, c.data(), kN);
      on_first = first.read() - before_first;
      of_both = on_first + second.read() - before_second;
    });
    guest::expect_counted(counted);
    guest::log_count("both CPUs, by the PMU", of_both);
    guest::log_count("CPU 0, by the PMU", on_first);
    EXPECT_EQ(c[0], 2.0F * kN);
    // The work is spread over both CPUs: one thread's share alone would be found out.
    EXPECT_LT(on_first, 0.8 * of_both);
    EXPECT_GT(on_first, 0.2 * of_both);
    EXPECT_GE(counted.value.value_or(-1), of_both);
    EXPECT_LT(counted.value.value_or(-1), of_both * (1 + kMostApart));
  });
}

TEST_F(Threads, ThreadsThatWereThereBeforeAreCounted) {
  std::atomic<int> phase{0};
  std::atomic<int> done{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i)
    workers.emplace_back([&] {
      phase.wait(0);
      spin(kRounds);
      ++done;
      done.notify_one();
      phase.wait(1);
    });
  guest::set_paranoid(2);
  const EventCount counted = count_one("instructions:u", [&] {
    phase = 1;
    phase.notify_all();
    for (int seen = 0; seen < 3; seen = done.load()) done.wait(seen);
  });
  phase = 2;
  phase.notify_all();
  for (std::thread& worker : workers) worker.join();
  guest::expect_counted(counted);
  EXPECT_GE(counted.value.value_or(-1), 3 * kInstructions);
  EXPECT_LT(counted.value.value_or(-1), 3 * kInstructions + kMostAround);
}

TEST_F(Threads, AThreadBornWhileCountingIsCounted) {
  const EventCount counted = count_one("instructions:u", [] {
    std::thread first([] { spin(kRounds); });
    std::thread second([] { spin(kRounds); });
    spin(kRounds);
    first.join();
    second.join();
  });
  guest::expect_counted(counted);
  EXPECT_GE(counted.value.value_or(-1), 3 * kInstructions);
  EXPECT_LT(counted.value.value_or(-1), 3 * kInstructions + kMostAround);
}

TEST_F(Threads, ThreadsBornBeforeARefreshAreCountedAfterIt) {
  const std::vector<std::string> names = {"instructions:u"};
  auto counting = Counting::open(probe_machine(0), 0, names, {});
  ASSERT_TRUE(counting) << counting.error().what;
  std::atomic<int> phase{0};
  std::thread worker([&] {
    phase.wait(0);
    spin(kRounds);
  });
  ASSERT_TRUE(counting->refresh_threads());
  Tally tally;
  ASSERT_TRUE(counting->start(0));
  phase = 1;
  phase.notify_all();
  worker.join();
  ASSERT_TRUE(counting->stop(0, tally, 1));
  const EventCount counted = counting->evaluate(tally).front();
  guest::expect_counted(counted);
  EXPECT_GE(counted.value.value_or(-1), kInstructions);
  EXPECT_LT(counted.value.value_or(-1), kInstructions + kMostAround);
}

// The process is what is counted: its threads, not the programs that it starts.
TEST_F(Threads, AForkedChildIsNotCounted) {
  const EventCount counted = count_one("instructions:u", [] {
    const pid_t child = fork();
    if (child == 0) {
      spin(kRounds);
      _exit(0);
    }
    spin(kRounds);
    waitpid(child, nullptr, 0);
  });
  guest::expect_counted(counted);
  EXPECT_GE(counted.value.value_or(-1), kInstructions);
  EXPECT_LT(counted.value.value_or(-1), kInstructions + kMostAround);
}

TEST(Cpus, PinningToACpuThatDoesNotExistIsAUsageError) {
  const auto pinned = pin_to({5});
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().fault, Fault::kUsage);
  EXPECT_THAT(pinned.error().what, testing::HasSubstr("5"));
}

TEST(Cpus, PinningToAnOfflineCpuIsAUsageErrorThatSaysSo) {
  const std::string online = "/sys/devices/system/cpu/cpu1/online";
  guest::write_setting(online, "0");
  in_child([] {
    const auto pinned = pin_to({1});
    ASSERT_FALSE(pinned);
    EXPECT_EQ(pinned.error().fault, Fault::kUsage);
    EXPECT_THAT(pinned.error().what + pinned.error().hint, testing::HasSubstr("offline"));
    // The other one still counts.
    ASSERT_TRUE(pin_to({0}));
    guest::expect_counted(count_one("instructions", [] { spin(kRounds); }));
  });
  guest::write_setting(online, "1");
}

TEST(TwoCpus, CountsFollowAThreadThatMigrates) {
  const EventCount counted = count_one("instructions:u", [] {
    for (unsigned cpu : {0U, 1U, 0U}) {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(cpu, &only);
      EXPECT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
      spin(kRounds);
    }
  });
  guest::expect_counted(counted);
  EXPECT_GE(counted.value.value_or(-1), 3 * kInstructions);
  EXPECT_LT(counted.value.value_or(-1), 3 * kInstructions + kMostAround);
}

}  // namespace
}  // namespace hwprof
