#include "src/report/documents/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

using model::Calibrated;
using model::CalibratedCount;
using model::CalibratedEvent;

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : std::string(kAbsent);
}

std::string ratio_text(const CalibratedCount& count) {
  if (count.ratio) return fmt::format("{:.2f}", *count.ratio);
  return std::string(kAbsent);
}

std::string range_text(const CalibratedEvent& event) {
  if (!event.lowest || !event.highest) return std::string(kAbsent);
  const std::string low = fmt::format("{:.2f}", *event.lowest);
  const std::string high = fmt::format("{:.2f}", *event.highest);
  return low == high ? low : fmt::format("{} to {}", low, high);
}

Table summary(const model::Calibration& calibration) {
  Table table{.title = "Hardware / exact",
              .columns = {{"event", true}, {"hardware / exact"}, {"verdict", true}}};
  Reasons absent;
  for (const CalibratedEvent& event : calibration.events) {
    const bool none = event.verdict == Calibrated::kAbsent;
    table.rows.push_back(
        {"", {event.name, range_text(event), std::string(model::name_of(event.verdict))}});
    if (none) absent.add(given(event.reason), event.name);
  }
  table.notes = table.brief = absent.sentences();
  return table;
}

// Work of which an event counts what it should is told by the summary.
Table details(const model::Calibration& calibration) {
  Table table{.title = "By work",
              .columns = {{"event", true}, {"work", true}, {"exact"}, {"counted"}, {"ratio"}}};
  for (const CalibratedEvent& event : calibration.events) {
    for (const CalibratedCount& count : event.counts)
      table.rows.push_back({"",
                            {event.name, count.work, number(count.exact), number(count.counted),
                             ratio_text(count)}});
  }
  return table;
}

}  // namespace

Document calibration_document(const model::Calibration& calibration) {
  Document document{.title = "hwprof events --calibrate"};
  if (calibration.events.empty()) {
    document.add(Headline{fmt::format("{}: nothing was calibrated", calibration.cpu_name), true});
    document.add(Paragraph{calibration.reason});
    document.add(Paragraph{"Nothing was kept.", Paragraph::Kind::kRemark});
    return document;
  }
  const auto off =
      std::count_if(calibration.events.begin(), calibration.events.end(),
                    [](const CalibratedEvent& event) { return event.verdict == Calibrated::kOff; });
  document.add(Headline{
      off == 0 ? fmt::format("{}: what could be counted is exact", calibration.cpu_name)
               : fmt::format("{}: {} not what the name says", calibration.cpu_name,
                             off == 1 ? "one event counts" : fmt::format("{} events count", off)),
      off == 0});
  document.add(summary(calibration)).add(details(calibration));
  document.add(Paragraph{calibration.kept_in.empty()
                             ? fmt::format("Not kept: {}", calibration.not_kept)
                             : fmt::format("Kept in {}: counts of events that are off say so from "
                                           "now on, and stay as they are.",
                                           calibration.kept_in)});
  return document;
}

}  // namespace hwprof::report
