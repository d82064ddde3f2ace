#include "tests/hardware/guest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace hwprof::guest {

// Not inlined, so that what stands around the loop does not depend on the caller.
[[gnu::noinline]] void spin(std::uint64_t rounds) {
  asm volatile(
      "1: subs %0, %0, #1\n"
      "   b.ne 1b\n"
      : "+r"(rounds)
      :
      : "cc");
}

std::vector<EventCount> count(const std::vector<std::string>& names,
                              const std::function<void()>& work, CountingOptions options) {
  auto counting = Counting::open(probe_machine(0), 0, names, options);
  if (!counting) {
    ADD_FAILURE() << counting.error().what;
    return std::vector<EventCount>(names.size());
  }
  Tally tally;
  for (std::size_t pass = 0; pass < counting->passes(); ++pass) {
    const auto started = counting->start(pass);
    work();
    const auto stopped = counting->stop(pass, tally, 1);
    EXPECT_TRUE(started) << started.error().what;
    EXPECT_TRUE(stopped) << stopped.error().what;
  }
  std::vector<EventCount> counts = counting->evaluate(tally);
  EXPECT_EQ(counts.size(), names.size());
  counts.resize(names.size());
  return counts;
}

EventCount count_one(const std::string& name, const std::function<void()>& work) {
  return count({name}, work).front();
}

void log_count(const std::string& what, double value) { fmt::print("{}: {:.15g}\n", what, value); }

void log_text(const EventCount& count) {
  fmt::print("{}: {} {} coverage {} [{}] {}\n", count.name, to_string(count.status),
             count.value ? fmt::format("{:.15g}", *count.value) : "no value",
             count.coverage ? fmt::format("{:.4f}", *count.coverage) : "none", count.event,
             count.reason);
}

void expect_refused(const EventCount& count, CountStatus status, const std::string& part) {
  log_text(count);
  EXPECT_EQ(to_string(count.status), to_string(status)) << count.name;
  EXPECT_FALSE(count.value) << count.name << " has the value " << count.value.value_or(-1);
  EXPECT_FALSE(count.total) << count.name << " has the total " << count.total.value_or(-1);
  EXPECT_THAT(count.reason, testing::HasSubstr(part)) << count.name;
  EXPECT_FALSE(count.reason.empty()) << count.name;
}

void expect_counted(const EventCount& count) {
  log_text(count);
  EXPECT_EQ(to_string(count.status), "ok") << count.name << ": " << count.reason;
  EXPECT_GT(count.value.value_or(0), 0) << count.name;
  EXPECT_EQ(count.coverage.value_or(-1), 1) << count.name;
}

void in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child's status is " << status;
}

void become_user() {
  ASSERT_EQ(setgid(kUser), 0);
  ASSERT_EQ(setuid(kUser), 0);
}

void write_setting(const std::string& path, const std::string& value) {
  std::ofstream file(path);
  file << value << std::flush;
  ASSERT_TRUE(file.good()) << path;
}

void set_paranoid(int level) {
  write_setting("/proc/sys/kernel/perf_event_paranoid", std::to_string(level));
}

}  // namespace hwprof::guest
