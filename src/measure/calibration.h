// Holds the events of a PMU against exact counts of the same work. Both counts are of the
// difference between twice as many rounds and once: what stands around the work cancels out.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "counters/events/event_notes.h"
#include "counters/perf/counting.h"
#include "src/base/result.h"
#include "src/exact/counts.h"
#include "src/measure/known_work.h"
#include "src/model/calibration.h"

namespace hwprof {

// flops, flops-sp, flops-dp, instructions, loads.
std::vector<std::string> calibrated_event_names();

// What a calibration needs to know: the same work counted both ways. Tests have their own.
struct CalibrationCounters {
  std::function<Result<exact::Counts>(const std::function<void()>&)> exact;
  // In the order of calibrated_event_names().
  std::function<std::vector<EventCount>(const std::function<void()>&)> hardware;
};

// Counted once exactly, and five times by the hardware: the median stands. An error where nothing
// can be counted exactly.
Result<std::vector<model::CalibratedEvent>> calibrate(const CalibrationCounters& counters,
                                                      std::span<const KnownWork> works);

// What `event` should have counted of such work; absent: the work does not tell.
std::optional<double> expected_count(const std::string& event, const KnownWork& work,
                                     const exact::Counts& exact);
// Ratios, and the verdict over all of them.
void judge_calibration(model::CalibratedEvent& event);

// What is said with every count of an event that is off: "counts 0.5 of the exact FLOP here
// (calibrated 2026-11-26)".
std::vector<EventNote> notes_of(const model::Calibration& calibration);

}  // namespace hwprof
