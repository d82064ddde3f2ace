#include "src/observe/calls/probes.h"

#include "src/observe/calls/tracefs.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  using namespace hwprof::observe;
  if (const auto format = parse_event_format(text)) must(format->id.size == 4);
  for (const std::string& event : dead_events(text)) must(event.starts_with("hwprof_"));
}
