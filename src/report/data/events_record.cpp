// The keys of `hwprof events`: its record holds what counters/ resolved, so it is none of the
// model.
#include <fmt/format.h>

#include "src/report/data/writers.h"
#include "src/report/documents/calibration.h"
#include "src/report/documents/inspect.h"

namespace hwprof::model {
namespace {

std::string raw_event(const NativeTerm& term) { return fmt::format("r{:04x}", term.config); }

}  // namespace

template <>
const Record& record<NativeTerm>() {
  static constexpr Field kFields[] = {
      field<&NativeTerm::native>("native", "", "the CPU's event"),
      field<&NativeTerm::config>("config", "", "of perf_event_attr"),
      computed<raw_event>("raw", "", "the same as perf takes it: `r01c2`"),
      field<&NativeTerm::weight>("weight", "", "by which its count is multiplied"),
  };
  static constexpr Record kRecord{"Term", "", kFields};
  return kRecord;
}

template <>
const Record& record<report::EventLine>() {
  using report::EventLine;
  static constexpr Field kFields[] = {
      field<&EventLine::resolved, &ResolvedEvent::name>("name", "", "as asked for"),
      computed<report::status_of>(
          "status", "", "as of the counters of a row; with `--cpu` `encoded`, `generic`, `none`"),
      field<&EventLine::reason>("reason", "",
                                "why there is no count, else what to know about it here")
          .null_if_empty(),
      field<&EventLine::resolved, &ResolvedEvent::shown_as>(
          "shown_as", "", "the name that the number deserves here"),
      field<&EventLine::resolved, &ResolvedEvent::unit>("unit", "", "`1` or `ns`"),
      field<&EventLine::resolved, &ResolvedEvent::event>("event", "", "native events in words")
          .null_if_empty(),
      field<&EventLine::terms>("terms", "", "empty unless the own table has it"),
      field<&EventLine::resolved, &ResolvedEvent::meaning>("meaning", "", "what is counted")
          .null_if_empty(),
      field<&EventLine::resolved, &ResolvedEvent::caveat>("caveat", "", "how the number lies")
          .null_if_empty(),
      field<&EventLine::resolved, &ResolvedEvent::source>("source", "", "who knew it")
          .null_if_empty(),
      field<&EventLine::resolved, &ResolvedEvent::document>("document", "", "where that is written")
          .null_if_empty(),
  };
  static constexpr Record kRecord{"Event", "", kFields};
  return kRecord;
}

template <>
const Record& record<report::EventsCore>() {
  using report::EventsCore;
  static constexpr Field kFields[] = {
      field<&EventsCore::core>("core", "", "null: not in the table").null_if_empty(),
      field<&EventsCore::pmu>("pmu", "", "null: there is none").null_if_empty(),
      field<&EventsCore::events>("events", "", ""),
  };
  static constexpr Record kRecord{"Core", "", kFields};
  return kRecord;
}

template <>
const Record& record<report::Events>() {
  using report::Events;
  static constexpr Field kFields[] = {
      field<&Events::version>("hwprof.version", "", "of hwprof"),
      field<&Events::here>("here", "", "whether this machine was asked"),
      field<&Events::cpu_id>("cpu.id", "", "`vendor/family/model` in decimal, as `--cpu` takes it"),
      field<&Events::cpu_name>("cpu.name", "", "null with `--cpu`").null_if_empty(),
      field<&Events::cpu>("tried_on_cpu", "", "null with `--cpu`"),
      field<&Events::pmu>("pmu", "", "a sentence on that of this machine; null with `--cpu`")
          .null_if_empty(),
      field<&Events::libpfm>("libpfm4", "", "a sentence on what it knows here; null with `--cpu`")
          .null_if_empty(),
      field<&Events::cores>("cores", "", "one; with `--cpu` each kind of core of a hybrid"),
  };
  static constexpr Record kRecord{"Events", "What can be counted.", kFields, "hwprof.events/1"};
  return kRecord;
}

}  // namespace hwprof::model

namespace hwprof::report {

std::string events_json(const Events& events) { return json_of(events); }
std::string calibration_json(const model::Calibration& calibration) { return json_of(calibration); }
std::string doctor_json(const Doctor& doctor) { return json_of(doctor); }
std::string peak_report_json(const PeakReport& report) { return json_of(report); }
std::string node_json(const Node& node) { return json_of(node); }
std::string survey_json(const BlasSurvey& survey) { return json_of(survey); }

}  // namespace hwprof::report
