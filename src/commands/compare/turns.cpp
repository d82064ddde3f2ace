#include "src/commands/compare/turns.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/spawn.h"
#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/commands/compare/report_file.h"
#include "src/commands/interrupt.h"

namespace hwprof {
namespace {

constexpr const char* kShell = "/bin/sh";
constexpr std::size_t kLeastPairs = 2;

// What a command printed, in memory: nothing is left behind, whatever ends us.
Result<UniqueFd> memory_file() {
  UniqueFd file(::memfd_create("hwprof-turn", MFD_CLOEXEC));
  if (file.get() < 0)
    return environment_error(
        errno, fmt::format("cannot keep what a command prints: {}", std::strerror(errno)));
  return file;
}

std::string content_of(const UniqueFd& file) {
  return read_text_file(fmt::format("/proc/self/fd/{}", file.get())).value_or("");
}

struct TurnEnd {
  std::string out, err;
  int exit = 0;
  double wall_s = 0, cpu_s = 0;
};

// A command that runs; what it prints goes to memory.
struct Started {
  UniqueFd out, err;
  pid_t child = 0;
  UniqueFd ended;      // a pidfd
  double wall_ns = 0;  // in which it was not stopped
};

// The shell in a process group of its own, so that all that it started can be ended with it.
Result<pid_t> start_in_group(const std::string& command, int out, int err) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);  // clears close-on-exec
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const std::vector<std::string> words = {"sh", "-c", command};
  const int failed =
      ::posix_spawn(&child, kShell, &files, &attributes, pointers_to(words).data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    return environment_error(failed,
                             fmt::format("cannot start {}: {}", kShell, std::strerror(failed)));
  return child;
}

Result<Started> start(const std::string& command) {
  Started started;
  TRY(started.out, memory_file());
  TRY(started.err, memory_file());
  TRY(started.child, start_in_group(command, started.out.get(), started.err.get()));
  started.ended = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, started.child, 0)));
  return started;
}

double turn_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Absent: it has not ended within `limit_ms`.
std::optional<TurnEnd> end_within(Started& started, int limit_ms) {
  const double before = wall_ns();
  pollfd event{started.ended.get(), POLLIN, 0};
  ::poll(&event, 1, limit_ms);
  started.wall_ns += wall_ns() - before;
  rusage usage{};
  int status = 0;
  const pid_t over =
      retry_interrupted([&] { return ::wait4(started.child, &status, WNOHANG, &usage); });
  if (over != started.child) return std::nullopt;
  return TurnEnd{.out = content_of(started.out),
                 .err = content_of(started.err),
                 .exit = exit_code_from(status),
                 .wall_s = started.wall_ns * 1e-9,
                 .cpu_s = turn_seconds(usage.ru_utime) + turn_seconds(usage.ru_stime)};
}

// Interrupted, its whole group is asked to end, and after a while made to.
TurnEnd wait_for_group(Started& started) {
  constexpr int kLookMs = 100, kPatienceMs = 3000;
  int asked_ms = -1;  // since it was asked
  for (;;) {
    if (std::optional<TurnEnd> end = end_within(started, kLookMs)) {
      if (asked_ms >= 0) ::kill(-started.child, SIGKILL);  // what the shell had started
      return *std::move(end);
    }
    if (asked_ms >= 0) asked_ms += kLookMs;
    if (interrupted() && asked_ms < 0) {
      ::kill(-started.child, SIGTERM);
      asked_ms = 0;
    } else if (asked_ms >= kPatienceMs) {
      ::kill(-started.child, SIGKILL);
    }
  }
}

using Pair = std::array<TurnEnd, 2>;

Result<Pair> run_whole(const std::array<std::string, 2>& commands, std::size_t first) {
  Pair ends;
  for (const std::size_t side : {first, 1 - first}) {
    TRY(Started started, start(commands[side]));
    ends[side] = wait_for_group(started);
    if (interrupted() || ends[side].exit != 0) break;
  }
  return ends;
}

// Both at once, each stopped while the other runs: a mood of the machine that is shorter than a run
// meets both alike. Should we be killed meanwhile, the kernel lets a stopped group that lost its
// parent go on, with SIGHUP (setpgid(2)).
Result<Pair> run_in_slices(const std::array<std::string, 2>& commands, std::size_t first,
                           int slice_ms) {
  std::array<Started, 2> started;
  std::array<std::optional<TurnEnd>, 2> ends;
  for (const std::size_t side : {first, 1 - first}) {
    auto one = start(commands[side]);
    if (!one) {
      if (side != first) {
        ::kill(-started[first].child, SIGKILL);
        wait_for_group(started[first]);
      }
      return tl::unexpected(std::move(one).error());
    }
    started[side] = *std::move(one);
    ::kill(-started[side].child, SIGSTOP);
  }
  for (std::size_t side = first; !interrupted() && !ends[0] && !ends[1]; side = 1 - side) {
    ::kill(-started[side].child, SIGCONT);
    ends[side] = end_within(started[side], slice_ms);
    if (!ends[side]) ::kill(-started[side].child, SIGSTOP);
  }
  for (const std::size_t side : {0, 1}) {
    if (ends[side]) continue;
    ::kill(-started[side].child, SIGCONT);
    ends[side] = wait_for_group(started[side]);
  }
  return Pair{*std::move(ends[0]), *std::move(ends[1])};
}

std::string last_line(std::string_view text) {
  std::string last;
  for (const std::string_view line : split(text, '\n'))
    if (!trim(line).empty()) last = trim(line);
  return last;
}

bool is_report(const std::string& text) {
  const std::string_view begin = trim(std::string_view(text).substr(0, 200));
  return begin.starts_with('{') && begin.find("\"hwprof.") != std::string_view::npos;
}

// One turn as a comparable of one run.
Result<Comparable> comparable_turn(const std::string& command, const TurnEnd& end) {
  if (is_report(end.out)) {
    TRY(Comparable made, parse_comparable(command, end.out));
    for (ComparableRow& row : made.rows) {
      // A run is one observation, whatever it repeated.
      std::vector<double> medians;
      for (const RunTimes& run : row.runs)
        if (run.median_ns) medians.push_back(*run.median_ns);
      if (row.runs.size() > 1 && !medians.empty()) row.runs = {{.median_ns = median(medians)}};
      for (RunTimes& run : row.runs) run.busy.clear();  // the neighbour had the same load
    }
    return made;
  }
  Comparable made;
  made.file.path = command;
  const auto add = [&made](const char* name, double seconds) {
    if (seconds > 0)
      made.rows.push_back({"the whole program", name, name, {{.median_ns = seconds * 1e9}}});
  };
  add("wall time", end.wall_s);
  add("CPU time", end.cpu_s);
  return made;
}

class TurnTaker {
 public:
  explicit TurnTaker(const TurnsOptions& options)
      : options_(options), commands_{options.baseline, options.other} {}

  Result<Turns> run() {
    watch_interrupts();
    const double begin = wall_ns();
    double longest_pair_ns = 0;
    Turns turns;
    bool warm = false;
    for (std::size_t pair = 0; !interrupted(); ++pair) {
      const bool enough = options_.runs
                              ? runs_[0].size() >= *options_.runs
                              : runs_[0].size() >= kLeastPairs &&
                                    wall_ns() - begin + longest_pair_ns > options_.budget_s * 1e9;
      if (enough) break;
      const double before = wall_ns();
      // The first pair runs whole: only then it is known what they are, and it may wait for a disk.
      TRY(const Pair ends,
          options_.slice_ms&& warm
              ? run_in_slices(commands_, pair % 2, static_cast<int>(*options_.slice_ms))
              : run_whole(commands_, pair % 2));
      if (interrupted()) break;
      std::array<Comparable, 2> both;
      for (const std::size_t side : {pair % 2, 1 - pair % 2}) {
        TRY(both[side], made_of(side, ends[side]));
      }
      TRY(check_pair(both[0], both[1]));
      longest_pair_ns = std::max(longest_pair_ns, wall_ns() - before);
      // A program reads its files from a disk once; a report's times are its own.
      if (!warm && both[0].file.schema.empty()) {
        warm = true;
        continue;
      }
      for (const std::size_t side : {0, 1}) runs_[side].push_back(std::move(both[side]));
      spdlog::info("pair {}, after {:.1f} s", runs_[0].size(), (wall_ns() - begin) * 1e-9);
    }
    if (interrupted()) turns.stopped = "interrupted";
    if (runs_[0].size() < kLeastPairs) {
      return environment_error(
          0,
          fmt::format("{} before two pairs of runs were measured: nothing can be said",
                      interrupted() ? "interrupted" : "stopped"),
          "");
    }
    turns.baseline = merge_runs(std::move(runs_[0]));
    turns.other = merge_runs(std::move(runs_[1]));
    for (Comparable* side : {&turns.baseline, &turns.other}) side->file.more.clear();
    return turns;
  }

 private:
  Result<Comparable> made_of(std::size_t side, const TurnEnd& end) const {
    if (end.exit != 0) {
      const std::string said = last_line(end.err);
      return environment_error(
          0,
          fmt::format("'{}' ended with exit code {} in its run {}{}", commands_[side], end.exit,
                      runs_[side].size() + 1, said.empty() ? "" : ": " + said),
          "both commands must succeed each time");
    }
    return comparable_turn(commands_[side], end);
  }

  Result<void> check_pair(const Comparable& a, const Comparable& b) const {
    if (options_.slice_ms && !a.file.schema.empty()) {
      return usage_error(
          "--slice stops and continues what it runs: no report of hwprof is measured so",
          "run it by turns without --slice");
    }
    if (a.file.schema != b.file.schema) {
      const auto kind = [](const std::string& schema) {
        return schema.empty() ? std::string("no report of hwprof") : schema;
      };
      return usage_error(fmt::format("'{}' prints {}, '{}' {}", options_.baseline,
                                     kind(a.file.schema), options_.other, kind(b.file.schema)),
                         "hwprof prints a report with --format json");
    }
    const bool common = std::any_of(a.rows.begin(), a.rows.end(), [&b](const ComparableRow& row) {
      return find_row(b, row) != nullptr;
    });
    if (common) return {};
    return usage_error(fmt::format("the reports of '{}' and '{}' have no row in common",
                                   options_.baseline, options_.other));
  }

  const TurnsOptions& options_;
  const std::array<std::string, 2> commands_;
  std::array<std::vector<Comparable>, 2> runs_;
};

}  // namespace

Result<Turns> run_by_turns(const TurnsOptions& options) { return TurnTaker(options).run(); }

}  // namespace hwprof
