#include "src/commands/try_events.h"

#include "counters/perf/counting.h"

namespace hwprof {
namespace {

void run_a_little() {
  constexpr int kSteps = 100000;
  volatile double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum = sum + 0.5;
}

}  // namespace

Result<std::vector<EventCount>> try_events(const Machine& machine, unsigned cpu,
                                           std::span<const std::string> names) {
  Result<Counting> counting = Counting::open(machine, cpu, names, {});
  if (!counting) return error_of(counting);
  Tally tally;
  for (std::size_t pass = 0; pass < counting->passes(); ++pass) {
    if (auto done = counting->start(pass); !done) return error_of(done);
    run_a_little();
    if (auto done = counting->stop(pass, tally, 1); !done) return error_of(done);
  }
  return counting->evaluate(tally);
}

}  // namespace hwprof
