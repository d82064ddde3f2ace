// Times a piece of work: on the clock that counts, and whether other programs lengthened it.
#pragma once

#include <optional>

#include "src/base/clock.h"
#include "src/measure/disturbance.h"

namespace hwprof {

// What is read around each piece: of the wall, and of the calling thread.
struct Clocks {
  double (*wall_ns)() = hwprof::wall_ns;
  double (*cpu_ns)() = thread_cpu_ns;
};

// What passed on both clocks, and on the one that counts.
struct Span {
  double wall_ns = 0, work_ns = 0, on_cpu_ns = 0;
  bool waited = false;        // for a CPU, beyond a share of it
  bool waits_known = true;    // false: a kernel that does not tell
  bool stepped_back = false;  // a clock did: nothing is known of the time
};

// Of its wall time: beyond this, a piece has waited for a CPU, not for another thread to wake up.
inline constexpr double kWaitedShare = 0.05;

class Stopwatch {
 public:
  explicit Stopwatch(const Clocks& clocks) : clocks_(clocks) {}
  // Looks which threads there are, whose waits are to be told.
  void find_threads() { delays_.refresh(); }
  void start(int threads);  // that the piece runs on
  [[nodiscard]] Span stop() const;

 private:
  Clocks clocks_;
  RunDelays delays_;
  int threads_ = 1;
  std::optional<double> waited_;
  double wall_ns_ = 0, cpu_ns_ = 0;
};

// What a reading of it takes.
double reading_ns(double (*clock)());

}  // namespace hwprof
