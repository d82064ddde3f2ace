// What a session that was killed has left in the system: probes in tracefs, and nothing else but
// private folders, which look after themselves (the table of the audit library has no name, and
// goes with its last user).
#pragma once

namespace hwprof::observe {

// Only probes of sessions of this program whose process is gone; quietly nothing where we may not.
void remove_leftover_probes();

}  // namespace hwprof::observe
