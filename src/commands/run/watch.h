// The time while a program runs: its records are drained, its processes looked at, and signals
// handled, until it ends.
#pragma once

#include <sys/types.h>

#include <functional>
#include <utility>

#include "src/commands/run/evidence.h"
#include "src/observe/proc/child.h"
#include "src/observe/proc/signals.h"

namespace hwprof {

// Signals as if hwprof were not there: what the terminal sent has reached the command by itself.
class PassedSignals {
 public:
  explicit PassedSignals(SignalWatch watch) : watch_(std::move(watch)) {}
  [[nodiscard]] SignalWatch& watch() { return watch_; }
  // True: watch on.
  bool pass(SignalWatch::Signal signal, const Child& child);
  // Those that came while no command ran.
  void take_waiting();
  // The signal that asks for the end of it all, and not only of one command; 0: none came.
  [[nodiscard]] int end_wanted() const { return end_wanted_; }

 private:
  void note(int number);

  SignalWatch watch_;
  int end_wanted_ = 0;
};

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
