// Records of the commands that look at the machine, and what is said of them: `hwprof blas`,
// `events`, `doctor`, `peak` and `workloads`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/events/event_table.h"
#include "counters/events/resolve.h"
#include "src/model/inspect.h"
#include "src/model/node_record.h"
#include "src/report/document.h"

namespace hwprof {
namespace report {

// What is known of an event for a machine that is not this one.
enum class Encoding : std::uint8_t {
  kNone,     // that core has no such event
  kGeneric,  // its kernel decides
  kEncoded,  // the table has an encoding
};

}  // namespace report

template <>
struct model::EnumNames<report::Encoding> {
  static constexpr EnumName<report::Encoding> kAll[] = {
      {report::Encoding::kNone, "none", "that core has no such event"},
      {report::Encoding::kGeneric, "generic", "its kernel decides"},
      {report::Encoding::kEncoded, "encoded", "the table has an encoding"},
  };
};

}  // namespace hwprof

namespace hwprof::report {

struct EventLine {
  ResolvedEvent resolved;
  std::vector<NativeTerm> terms;     // of the own table
  std::optional<CountStatus> tried;  // on this machine; absent: another one
  Encoding encoding = Encoding::kNone;
  std::string reason;  // why it cannot be counted; else what to know about the count here
};

std::string_view status_of(const EventLine& line);

struct EventsCore {
  std::string core;  // "AMD Zen 5"; empty: not in the table
  std::string pmu;   // empty: there is none
  std::vector<EventLine> events;
};

struct Events {
  std::string version;
  std::string cpu_name;  // empty: another machine
  std::string cpu_id;    // "amd/26/2"
  bool here = true;
  bool explain = false;           // the events were named
  std::optional<unsigned> cpu;    // that was tried
  std::string pmu;                // one sentence on the PMU of this machine
  std::string libpfm;             // one sentence on what libpfm4 knows here
  std::vector<EventsCore> cores;  // one; of another machine's hybrid each kind
};

Document events_document(const Events& events);
std::string events_json(const Events& events);  // hwprof.events/1

std::string to_string(State state);  // "good", "mend", "note", "unknown"
Document doctor_document(const Doctor& doctor);
std::string doctor_json(const Doctor& doctor);  // hwprof.doctor/1

Document peak_document(const PeakReport& report);
std::string peak_report_json(const PeakReport& report);  // hwprof.peak/1

// A name and what it is; of an operation the sizes that it must be given.
struct NamedThing {
  std::string name, meaning;
};

struct WorkloadList {
  std::vector<NamedThing> workloads, operations;
};

// A network of layers, written out for people; its JSON is the file that can be profiled.
struct NetworkOutline {
  struct Layer {
    std::string name, type, output;
  };
  std::string name, input;
  std::vector<Layer> layers;
};

Document workloads_document(const WorkloadList& list);
Document network_document(const NetworkOutline& network);

// What `hwprof blas` found: every BLAS of the machine, and the one that programs get.
Document survey_document(const BlasSurvey& survey);
std::string survey_json(const BlasSurvey& survey);  // hwprof.blas/1

// What `hwprof node` found: the processes with a BLAS, then the machine's own.
Document node_document(const Node& node);
std::string node_json(const Node& node);  // hwprof.node/1
std::string node_csv(const Node& node);   // one line a process

// "verdict=optimal provider=openblas core=Zen gflops=61.3 peak_fraction=0.87", for other tools;
// "-" for what is not known.
std::string verdict_line(VerdictKind verdict, const Blas& library, std::optional<double> gflops,
                         std::optional<double> peak_fraction);

}  // namespace hwprof::report

namespace hwprof::model {

template <>
const Record& record<NativeTerm>();
template <>
const Record& record<report::EventLine>();
template <>
const Record& record<report::EventsCore>();
template <>
const Record& record<report::Events>();

}  // namespace hwprof::model
