#include "src/observe/proc/leftovers.h"

#include <string>

#include "src/observe/calls/tracefs.h"

namespace hwprof::observe {

void remove_leftover_probes() {
  const auto tracefs = Tracefs::open();
  if (!tracefs) return;
  for (const std::string& event : dead_events(tracefs->read("uprobe_events").value_or(""))) {
    // Refused while somebody has it open, and that is right.
    static_cast<void>(tracefs->write_line("-:" + event));
  }
}

}  // namespace hwprof::observe
