// The time while a program runs: its records are drained, its processes looked at, and signals
// handled, until it ends.
#pragma once

#include <sys/types.h>

#include <functional>

#include "src/commands/evidence.h"
#include "src/observe/signals.h"

namespace hwprof {

struct Watch {
  int exit_descriptor = -1;  // readable once the program has ended
  SignalWatch& signals;
  Evidence& evidence;
  // False: watch no longer.
  std::function<bool(SignalWatch::Signal)> on_signal;
  std::function<bool()> on_tick;  // at least every kTick; false: watch no longer
};

// True when the program has ended, false when one of the functions wanted no more.
bool watch_until_end(Watch& watch);

}  // namespace hwprof
