// The kernel's list of user-space probes (Documentation/trace/uprobetracer.rst): a thin shell, and
// the texts that it takes and gives.
//
// All probes of a session stand in one group whose name says whose they are. Several probes may be
// one event (Linux 5.5): their arguments have the same names and types, and a constant says which
// of them was hit. Events count, not probes: each is opened once for every CPU.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/calls/routine_file.h"

namespace hwprof::observe {

enum class EventKind { kEntry, kWideEntry, kReturn };
inline constexpr std::string_view kEventNames[] = {"entry", "wide_entry", "leave"};

// Where the fields of an event lie in its raw data; a size of 0 is a field that it does not have.
struct EventField {
  unsigned offset = 0, size = 0;
};
struct EventFormat {
  unsigned type = 0;  // number of the tracepoint, first 16 bits of the raw data
  bool leaves = false;
  EventField id, ret, sp, m, n, k;
};
// From the text of the file `format`; absent when it lacks the field "id".
std::optional<EventFormat> parse_event_format(std::string_view text);

// Line that defines a probe. The file is named by a descriptor of this process: no byte of a path
// that somebody else chose reaches the parser, and it is the file whose symbols were read.
std::string probe_definition(std::string_view group, std::string_view event, EventKind kind, int fd,
                             const EntryPoint& entry, std::uint32_t id);

// "hwprof_PID_START_NAMESPACE_RANDOM": a later session must know whether this process still lives.
// Empty when the kernel does not say when we were started.
std::string new_group_name();
// What is left of sessions whose process is gone, as "group/event", from the list of all probes.
std::vector<std::string> dead_events(std::string_view list);

class Tracefs {
 public:
  // Where it is mounted; else a mount of our own that no other process sees (fsmount(2)).
  static Result<Tracefs> open();

  // Appends one line to uprobe_events. Never a truncating open: it deletes everybody's probes.
  [[nodiscard]] Result<void> write_line(const std::string& line) const;
  [[nodiscard]] std::optional<std::string> read(const std::string& file) const;

 private:
  explicit Tracefs(UniqueFd root) : root_(std::move(root)) {}
  UniqueFd root_;
};

}  // namespace hwprof::observe
