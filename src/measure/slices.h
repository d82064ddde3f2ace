// Runs slices of work, with the FMA peak between their pieces, and keeps what was measured. Which
// work is next, and when it is enough, the schedule decides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/measure/schedule.h"
#include "src/measure/stopwatch.h"

namespace hwprof {

class Slices {
 public:
  Slices(std::span<const Work> work, ThreadTeam& team, Counting* counting,
         const ScheduleOptions& options);

  // How long a slice has to be where a call takes `call_ns`; says what it takes, with its peaks.
  double plan(std::size_t i, double call_ns);
  // After the first calls of all work, which wake threads.
  void begin();
  // A slice of work `i`, kept in result(). False: the work has gone.
  bool run(std::size_t i);
  void call_whole(std::size_t i);
  // Leaves out what was disturbed.
  void settle();

  [[nodiscard]] std::size_t samples(std::size_t i) const {
    return result_.work[i].whole.slices.size();
  }
  ScheduleResult& result() { return result_; }
  [[nodiscard]] const ScheduleResult& result() const { return result_; }

 private:
  // Calls of a piece, pieces of a slice, and seconds of the peak between them: as long as a piece,
  // so that both see the same moods of the machine. A piece of 0.3 ms makes two readings of the CPU
  // clock invisible.
  struct Plan {
    std::uint64_t calls = 1, pieces = 1;
    double peak_s = 0;
    std::size_t windows = 0;         // of counting, until now
    double (*clock)() = wall_ns;     // that is read between parts
    std::vector<double> boundaries;  // of parts
  };

  void choose_clock(std::size_t i, double call_ns);
  template <class F>
  Span time(std::size_t i, const F& run);
  [[nodiscard]] bool is_counted(std::size_t i) const;
  std::size_t pass_of(std::size_t i);
  [[nodiscard]] bool left_its_cpus() const;
  bool slice_of_calls(std::size_t i);
  void slice_in_parts(std::size_t i);
  bool call_by_part(std::size_t i);
  double measure_peak(double seconds);

  std::span<const Work> work_;
  ThreadTeam& team_;
  Counting* counting_;
  const ScheduleOptions& options_;
  Stopwatch watch_;
  Steal steal_;
  std::vector<Plan> plans_;
  ScheduleResult result_;
  bool counted_ = false;
  double last_peak_ = 0;
};

}  // namespace hwprof
