#include "src/commands/inspect/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "counters/events/event_table.h"
#include "counters/machine.h"
#include "counters/perf/counting.h"
#include "src/base/utc.h"
#include "src/commands/kept_calibration.h"
#include "src/exact/exact.h"
#include "src/measure/calibration.h"

namespace hwprof {
namespace {

Result<std::vector<model::CalibratedEvent>> calibrate_events(const Machine& machine, unsigned cpu) {
  TRY(exact::check_available());
  const std::vector<std::string> names = calibrated_event_names();
  TRY(Counting counting, Counting::open(machine, cpu, names, {}));
  const CalibrationCounters counters{
      .exact = [](const std::function<void()>& run) -> Result<exact::Counts> {
        TRY(const exact::Counted counted, exact::count(run));
        return counted.counts;
      },
      .hardware =
          [&counting](const std::function<void()>& run) {
            Tally tally;
            for (std::size_t pass = 0; pass < counting.passes(); ++pass)
              counting.count(pass, tally, 1, run);
            return counting.evaluate(tally);
          }};
  return calibrate(counters, known_work());
}

}  // namespace

Result<model::Calibration> calibrate_here(unsigned cpu) {
  const Machine machine = probe_machine(cpu);
  model::Calibration calibration;
  calibration.version = HWPROF_VERSION;
  calibration.calibrated_utc = utc_now();
  calibration.cpu_name = machine.cpu_name;
  calibration.key = calibration_key(machine, cpu);
  calibration.not_kept = "nothing was calibrated";
  if (machine.pmu.for_cpu(cpu) == nullptr) {
    calibration.reason =
        machine.pmu.present() ? "no PMU of this machine covers the pinned CPU" : machine.pmu.reason;
    return calibration;
  }
  Result<std::vector<model::CalibratedEvent>> events = calibrate_events(machine, cpu);
  if (!events) {
    calibration.reason = events.error().what;
    return calibration;
  }
  calibration.events = *std::move(events);
  const bool any = std::any_of(calibration.events.begin(), calibration.events.end(),
                               [](const model::CalibratedEvent& event) {
                                 return event.verdict != model::Calibrated::kAbsent;
                               });
  if (!any) return calibration;
  const Result<std::string> folder =
      cache_folder(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"));
  // What is kept does not name itself.
  calibration.not_kept.clear();
  const Result<std::string> path =
      folder ? keep_calibration(*folder, calibration) : Result<std::string>(error_of(folder));
  if (path) {
    calibration.kept_in = *path;
  } else {
    calibration.not_kept = path.error().what;
  }
  return calibration;
}

}  // namespace hwprof
