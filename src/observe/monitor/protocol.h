// What the parts of hwprof say to each other (monitor.h). The worker asks the hand and the monitor,
// each on a channel of its own, and waits for the answer before it asks again; the end of the
// command comes on a third.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/calls/probes.h"
#include "src/observe/monitor/channel.h"
#include "src/observe/proc/child.h"
#include "src/observe/proc/foreign_file.h"

namespace hwprof::observe {

enum class Ask : std::uint32_t {
  // The hand:
  kOpenEvent,    // attr, pid, cpu, end (bytes of its ring); the group's leader as descriptor -> the
                 // event
  kOpenFile,     // kind, pid, start, end; path as text -> the file
  kBeginProbes,  // -> whether uprobes can be set
  kReadRoutines,  // the file, by name (O_PATH) -> number: what the next one calls it. Answered once
                  // it has been read
  kDefineProbes,  // number, generation; ProbePoints as text -> their events
  kRemoveProbes,  // -> what stays, as text
  // The monitor, with no descriptor:
  kStart,         // the command; variables as text, each ended by a zero -> pid
  kStartQuietly,  // the same, its standard error thrown away -> its standard output, too
  kRelease,       // the command runs
  kEndWanted,     // -> number: the signal that asked for the end; 0: none
  kPart,          // bytes as text: more of what one of the next two saves
  kSaveReport,    // to be written at the end, instead of the one before
  kSaveFile,      // the path as text: written now
  kFinish,        // number: exit code
  kFail,          // an error, as text: what, a zero, hint
};

constexpr bool is_for_hand(Ask ask) { return ask <= Ask::kRemoveProbes; }

struct Question {
  Ask ask = Ask::kFinish;
  std::int32_t pid = 0, cpu = 0, number = 0, generation = 0;
  ForeignFile::Kind file = ForeignFile::Kind::kMaps;
  std::uint64_t start = 0, end = 0;
  perf_event_attr attr{};
};

struct ProbePoint {
  std::uint64_t offset = 0;  // in the file
  std::uint32_t id = 0;
  EventKind kind = EventKind::kEntry;
};

// What failed, a zero, and the hint.
std::string text_of(const Error& error);
Error error_in(Fault fault, int code, std::string_view text);

// The text of an error is text_of() it.
struct Answer {
  std::int32_t code = 0;  // errno of what failed
  std::int32_t number = 0;
  bool failed = false, usage = false;
  std::array<EventFormat, std::size(kEventNames)> events;  // those of a type
};

// False as Channel::send() says.
bool send_answer(const Channel& to, Result<Answer> answered, std::string said = {},
                 const UniqueFd& given = {});

using LeftProcess = Orphans::Left;
// "PID NAME" and a zero.
std::string text_of(const LeftProcess& process);
std::vector<LeftProcess> processes_in(std::string_view text);

// The command has ended. Its text: processes that it left behind.
struct CommandEnded {
  std::int32_t exit = 0;
  std::int32_t lost = 0;                        // not 0: it could not be waited for, and why
  double wall_s = 0, user_s = 0, system_s = 0;  // with what the processes that it left have taken
  double waited_s = -1;                         // for a CPU; negative: not known
  std::uint64_t page_faults = 0, major_faults = 0;
  std::uint64_t voluntary_switches = 0, involuntary_switches = 0;
  std::uint64_t peak_rss_bytes = 0;  // 0: not above what starting it took
  std::uint64_t start_rss_bytes = 0;
};

}  // namespace hwprof::observe
