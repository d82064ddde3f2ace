// What the hardware cases share: work of known length, counting it as hwprof does, and children
// that give up privileges. These programs run as root in a VM that lives for one boot (scripts/vm),
// so they change its settings freely.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "counters/machine.h"
#include "counters/perf/counting.h"

namespace hwprof::guest {

constexpr unsigned kUser = 1000;  // uid and gid of an ordinary user
// User instructions around the counted work: ends of the system calls that enable and disable, and
// hwprof's own between them.
constexpr double kMostAround = 300;

// Executes exactly 2 * rounds instructions and a constant number more. rounds >= 1.
void spin(std::uint64_t rounds);

// Opens, counts `work` once a pass, evaluates. Adds a test failure when a step of that fails.
std::vector<EventCount> count(const std::vector<std::string>& names,
                              const std::function<void()>& work, CountingOptions options = {});
EventCount count_one(const std::string& name, const std::function<void()>& work);

// Puts a number into the log of the suite.
void log_count(const std::string& what, double value);
void log_text(const EventCount& count);

// A count without a value, with this status and a reason that contains `part`.
void expect_refused(const EventCount& count, CountStatus status, const std::string& part);
void expect_counted(const EventCount& count);

// Runs `body` in a child process; assertions that fail there fail the test here.
void in_child(const std::function<void()>& body);
void become_user();

// Writes to a file of /proc or /sys; a failure of it fails the test.
void write_setting(const std::string& path, const std::string& value);
void set_paranoid(int level);

}  // namespace hwprof::guest
