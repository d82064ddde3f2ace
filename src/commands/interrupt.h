// Ctrl-C and kill end a measurement early and leave what was measured: the handler only sets a
// flag, which is looked at between slices. A second signal ends the process at once.
#pragma once

#include <atomic>

namespace hwprof {

// Set by SIGINT or SIGTERM once watch_interrupts() was called.
const std::atomic<bool>& interrupted();
// 128 + the signal that came; 0 if none.
int interrupt_exit_code();
void watch_interrupts();

}  // namespace hwprof
