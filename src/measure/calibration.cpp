#include "src/measure/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using model::Calibrated;
using model::CalibratedCount;
using model::CalibratedEvent;

constexpr int kRuns = 5;
// Interrupts count where the kernel's share does: some thousand instructions in a millisecond.
constexpr double kWithin = 0.01;

bool is_one(double ratio) { return std::abs(ratio - 1) <= kWithin; }

std::optional<double> flops_of_event(const std::string& event, const exact::Counts& counts) {
  if (event == "flops") return static_cast<double>(counts.total_flops());
  if (event == "flops-sp") return static_cast<double>(counts.flops_of(exact::Precision::kSingle));
  if (event == "flops-dp") return static_cast<double>(counts.flops_of(exact::Precision::kDouble));
  return std::nullopt;
}

// "FLOP", "instructions", "loads"
std::string unit_of(const std::string& event) {
  return event.starts_with("flops") ? "FLOP" : event;
}

std::string in_words(double ratio) { return fmt::format("{:.3g}", ratio); }

std::string sentence_on(const CalibratedEvent& event) {
  const auto off = [](const CalibratedCount& count) {
    return count.ratio ? !is_one(*count.ratio) : count.counted.value_or(0) > 0;
  };
  std::vector<const CalibratedCount*> wrong;
  std::size_t told = 0;
  for (const CalibratedCount& count : event.counts) {
    if (!count.counted) continue;
    ++told;
    if (off(count)) wrong.push_back(&count);
  }
  const std::string unit = unit_of(event.name);
  const bool all_alike = wrong.size() == told && event.lowest && event.highest &&
                         in_words(*event.lowest) == in_words(*event.highest);
  if (all_alike)
    return fmt::format("counts {} of the exact {} here", in_words(*event.lowest), unit);
  constexpr std::size_t kMost = 3;
  std::vector<std::string> parts;
  for (const CalibratedCount* count : wrong) {
    if (parts.size() == kMost) {
      parts.push_back(fmt::format("and {} more", wrong.size() - kMost));
      break;
    }
    parts.push_back(count->ratio ? fmt::format("{} in '{}'", in_words(*count->ratio), count->work)
                                 : fmt::format("some where there are none in '{}'", count->work));
  }
  return fmt::format("counts, of the exact {} here, {}", unit, fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> calibrated_event_names() {
  return {"flops", "flops-sp", "flops-dp", "instructions", "loads"};
}

std::optional<double> expected_count(const std::string& event, const KnownWork& work,
                                     const exact::Counts& exact) {
  if (event == "instructions") {
    if (!work.tells_instructions) return std::nullopt;
    return static_cast<double>(exact.instructions);
  }
  if (event == "loads") {
    if (work.load_bytes == 0) return std::nullopt;
    return static_cast<double>(exact.bytes_loaded) / work.load_bytes;
  }
  if (!work.tells_flops) return std::nullopt;
  const std::optional<double> flops = flops_of_event(event, exact);
  // Of one precision, the work of the other says nothing; work without FLOP is for `flops` alone.
  return flops == 0 && event != "flops" ? std::nullopt : flops;
}

void judge_calibration(CalibratedEvent& event) {
  event.verdict = Calibrated::kAbsent;
  event.lowest = event.highest = std::nullopt;
  bool off = false;
  for (CalibratedCount& count : event.counts) {
    count.ratio = std::nullopt;
    if (!count.counted || !count.exact) continue;
    event.verdict = Calibrated::kExact;
    if (*count.exact == 0) {
      off = off || *count.counted > 0;
      continue;
    }
    count.ratio = *count.counted / *count.exact;
    event.lowest = std::min(event.lowest.value_or(*count.ratio), *count.ratio);
    event.highest = std::max(event.highest.value_or(*count.ratio), *count.ratio);
    off = off || !is_one(*count.ratio);
  }
  if (off) event.verdict = Calibrated::kOff;
  if (event.verdict != Calibrated::kAbsent) event.reason.clear();
}

Result<std::vector<CalibratedEvent>> calibrate(const CalibrationCounters& counters,
                                               std::span<const KnownWork> works) {
  const std::vector<std::string> names = calibrated_event_names();
  std::vector<CalibratedEvent> events(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    events[i].name = names[i];
    events[i].reason = "no work of this machine tells it";
  }
  for (const KnownWork& work : works) {
    const auto once = [&] { work.run(work.rounds); };
    const auto twice = [&] { work.run(2 * work.rounds); };
    once();  // what is bound or allocated only once
    TRY(const exact::Counts exact_once, counters.exact(once));
    TRY(const exact::Counts exact_twice, counters.exact(twice));
    std::vector<std::vector<double>> differences(names.size());
    for (int run = 0; run < kRuns; ++run) {
      const std::vector<EventCount> one = counters.hardware(once);
      const std::vector<EventCount> two = counters.hardware(twice);
      for (std::size_t i = 0; i < names.size(); ++i) {
        events[i].native = one[i].event;
        if (one[i].value && two[i].value) {
          differences[i].push_back(*two[i].value - *one[i].value);
        } else if (events[i].counts.empty()) {
          events[i].reason = (one[i].value ? two : one)[i].reason;
        }
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto before = expected_count(names[i], work, exact_once);
      const auto after = expected_count(names[i], work, exact_twice);
      if (!before || !after || differences[i].empty()) continue;
      events[i].counts.push_back(
          {work.name, *after - *before, std::max(0.0, median(differences[i])), std::nullopt});
    }
  }
  for (CalibratedEvent& event : events) judge_calibration(event);
  return events;
}

std::vector<EventNote> notes_of(const model::Calibration& calibration) {
  std::vector<EventNote> notes;
  for (const CalibratedEvent& event : calibration.events) {
    if (event.verdict != Calibrated::kOff) continue;
    notes.push_back({event.name, fmt::format("{} (calibrated {})", sentence_on(event),
                                             calibration.calibrated_utc.substr(0, 10))});
  }
  return notes;
}

}  // namespace hwprof
