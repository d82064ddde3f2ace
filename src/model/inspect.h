// What the commands that look at the machine found out: `hwprof doctor`, `peak` and `blas`.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "src/model/record.h"

namespace hwprof::model {

enum class State {
  kGood,
  kMend,     // stands in the way, and can be mended
  kNote,     // to be known; nothing is wrong
  kUnknown,  // cannot be seen from here
};

template <>
struct EnumNames<State> {
  static constexpr EnumName<State> kAll[] = {
      {State::kGood, "good", "nothing to do"},
      {State::kMend, "mend", "stands in the way, and can be fixed"},
      {State::kNote, "note", "to be known; nothing is wrong"},
      {State::kUnknown, "unknown", "cannot be seen from here"},
  };
};

struct Finding {
  std::string name;  // of the check: "paranoid"
  State state = State::kUnknown;
  std::string finding;      // what was found
  std::string consequence;  // what it does to the numbers; empty when good
  std::string remedy;       // the command that mends it; may be empty unless kMend
};

struct Doctor {
  std::string version;
  Machine machine;
  std::vector<unsigned> cpus;  // that were judged
  std::vector<Finding> findings;

  [[nodiscard]] bool clean() const {  // nothing to fix
    return std::none_of(findings.begin(), findings.end(),
                        [](const Finding& finding) { return finding.state == State::kMend; });
  }
};

struct PeakReport {
  std::string version;
  Machine machine;
  std::vector<unsigned> pinned, cpus;  // asked for; used
  Peak peak;
};

struct BlasSurvey {
  std::string version;
  Machine machine;
  std::vector<SurveyedBlas> libraries;  // highest share of the peak first
  ProfileBlas blas;                     // the default, with its ladder and verdict
  std::vector<std::string> notes;
};

template <>
const Record& record<Finding>();
template <>
const Record& record<Doctor>();
template <>
const Record& record<PeakReport>();
template <>
const Record& record<BlasSurvey>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::State, model::Finding, model::Doctor, model::PeakReport, model::BlasSurvey;
}  // namespace hwprof::report
