// What a caller found out about events of this machine (a calibration): said with every count of
// theirs, which stay as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hwprof {

struct EventNote {
  std::string event;  // portable name
  std::string text;
};

// Replaces those that were set before. Before events are resolved: resolve() reads them.
void set_event_notes(std::vector<EventNote> notes);

// Of `event`; empty: none.
std::string_view note_on(std::string_view event);

}  // namespace hwprof
