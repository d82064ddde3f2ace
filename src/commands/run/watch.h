// The time while a program runs: its records are drained, its processes looked at, and signals
// handled, until it ends.
#pragma once

#include <functional>

#include "src/commands/run/evidence.h"
#include "src/observe/proc/signals.h"

namespace hwprof {

struct Watch {
  int exit_descriptor = -1;  // readable once the program has ended
  SignalWatch& signals;
  // False: watch no longer.
  std::function<bool(SignalWatch::Signal)> on_signal;
  // Without these two it sleeps until the end or a signal, and disturbs nothing.
  Evidence* evidence = nullptr;
  std::function<bool()> on_tick = nullptr;  // at least every kTick; false: watch no longer
};

// True when the program has ended, false when one of the functions wanted no more.
bool watch_until_end(Watch& watch);

}  // namespace hwprof
