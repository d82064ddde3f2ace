#include "src/commands/run/timed_command.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "src/observe/proc/tree_counting.h"

namespace hwprof {
namespace {

void count_migrations(const Result<TreeCounting>& counting, TimedEnd& ended) {
  if (!counting) {
    ended.migrations_reason = counting.error().what;
    return;
  }
  const std::vector<EventCount> counts = counting->finish();
  ended.run.migrations = counts.front().value;
  if (!ended.run.migrations) ended.migrations_reason = counts.front().reason;
}

// FNV-1a (Fowler, Noll, Vo 1991): nobody chooses an output so as to be taken for another.
void take(std::span<const unsigned char> bytes, WrittenBytes& written) {
  constexpr std::uint64_t kPrime = 1099511628211U;
  for (const unsigned char byte : bytes) written.hash = (written.hash ^ byte) * kPrime;
  written.count += bytes.size();
}

// Until the command has ended, and then what is left: a process that it started and that goes on
// may hold the other end for ever.
WrittenBytes read_output(const UniqueFd& output, int end_descriptor) {
  constexpr std::uint64_t kBasis = 14695981039346656037U;
  constexpr std::size_t kBytes = std::size_t{64} << 10U;
  WrittenBytes written{.count = 0, .hash = kBasis};
  std::vector<unsigned char> bytes(kBytes);
  bool open = true, ended = false;
  while (open || !ended) {
    pollfd waiting[] = {{open ? output.get() : -1, POLLIN, 0},
                        {ended ? -1 : end_descriptor, POLLIN, 0}};
    const int ready = ::poll(waiting, std::size(waiting), ended ? 0 : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    if (waiting[0].revents != 0) {
      const ssize_t got = ::read(output.get(), bytes.data(), bytes.size());
      if (got > 0) take(std::span(bytes).first(static_cast<std::size_t>(got)), written);
      open = got > 0 || (got < 0 && errno == EINTR);
    }
    ended = ended || waiting[1].revents != 0;
  }
  return written;
}

}  // namespace

Result<TimedEnd> time_command(const TimedStart& start, const Machine& machine,
                              observe::MonitorClient& monitor) {
  observe::MonitorClient::Quiet command;
  if (start.quiet) {
    TRY(command, monitor.start_quietly(start.changes));
  } else {
    TRY(command.pid, monitor.start(start.changes));
  }
  const std::string counted[] = {"migrations"};
  const Result<TreeCounting> counting =
      start.no_migrations.empty() ? TreeCounting::open(machine, command.pid, counted, true)
                                  : environment_error(0, start.no_migrations);
  TRY(monitor.release());
  TimedEnd ended;
  if (start.quiet) ended.written = read_output(command.output, monitor.end_descriptor());
  TRY(const observe::CommandEnd end, monitor.wait());
  const observe::CommandEnded& facts = end.facts;
  ended.run = {.wall_s = facts.wall_s,
               .user_s = facts.user_s,
               .system_s = facts.system_s,
               .page_faults = facts.page_faults,
               .major_faults = facts.major_faults,
               .voluntary_switches = facts.voluntary_switches,
               .involuntary_switches = facts.involuntary_switches,
               .waited_s = facts.waited_s >= 0 ? std::optional(facts.waited_s) : std::nullopt,
               .migrations = std::nullopt,
               .peak_gflops = std::nullopt};
  ended.exit = facts.exit;
  ended.goes_on = !end.left.empty();
  count_migrations(counting, ended);
  return ended;
}

Result<CommandInput> CommandInput::prepare(const std::string& option) {
  CommandInput input;
  struct stat status = {};
  if (::fstat(STDIN_FILENO, &status) != 0) return input;  // closed, for each of them
  const off_t begin = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (begin >= 0) {
    input.begin_ = begin;
  } else if (!S_ISCHR(status.st_mode)) {
    return usage_error(
        option + ": standard input is a pipe or a socket, which the first run would leave empty",
        "give a file, which each run reads from where it stands now, or < /dev/null");
  }
  return input;
}

void CommandInput::rewind() const {
  if (begin_) ::lseek(STDIN_FILENO, *begin_, SEEK_SET);
}

}  // namespace hwprof
