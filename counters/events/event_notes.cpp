#include "counters/events/event_notes.h"

#include <utility>

namespace hwprof {
namespace {

std::vector<EventNote>& all_notes() {
  static std::vector<EventNote> notes;
  return notes;
}

}  // namespace

void set_event_notes(std::vector<EventNote> notes) { all_notes() = std::move(notes); }

std::string_view note_on(std::string_view event) {
  for (const EventNote& note : all_notes()) {
    if (note.event == event) return note.text;
  }
  return {};
}

}  // namespace hwprof
