#include "src/commands/report/saved.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "src/commands/report/whole.h"
#include "src/model/from_json.h"
#include "src/report/documents/check.h"
#include "src/report/documents/documents.h"
#include "src/report/documents/fleet.h"
#include "src/report/documents/inspect.h"

namespace hwprof {
namespace {

// Of the files JSON has the shares alone.
void complete(report::Executed& executed) {
  for (auto* shares : {&executed.by_library, &executed.vector_width})
    for (report::SampleShare& share : *shares)
      share.samples = static_cast<std::uint64_t>(
          std::llround(share.fraction * static_cast<double>(executed.samples)));
}
void complete(report::Run& run) { complete(run.blas.evidence.executed); }
void complete(report::Profile& profile) {
  if (profile.executed) complete(*profile.executed);
}
// JSON has the library once.
void complete(report::Sweep& sweep) {
  if (sweep.blas) sweep.run.blas = *sweep.blas;
}
template <class Record>
void complete(Record& /*record*/) {}

template <class Record, report::Document (*document)(const Record&)>
Result<report::PageReport> page_of(const ReportFile& file) {
  auto record = model::from_json<Record>(file.json);
  constexpr const char* kNotOurs = "the file was not written by hwprof, or changed since";
  if (!record) return usage_error(fmt::format("{}: {}", file.path, record.error().what), kNotOurs);
  if (const std::string_view missing = what_is_missing(*record); !missing.empty())
    return usage_error(fmt::format("{}: {}", file.path, missing), kNotOurs);
  complete(*record);
  return report::PageReport{document(*record), file.json.dump(2, ' ', true) + "\n"};
}

struct Saved {
  std::string_view schema;
  Result<report::PageReport> (*page)(const ReportFile&);
};

constexpr Saved kSaved[] = {
    {"hwprof.profile/1", page_of<report::Profile, report::profile_document>},
    {"hwprof.run/1", page_of<report::Run, report::run_document>},
    {"hwprof.sweep/1", page_of<report::Sweep, report::sweep_document>},
    {"hwprof.compare/1", page_of<report::Comparison, report::comparison_document>},
    {"hwprof.blas/1", page_of<report::BlasSurvey, report::survey_document>},
    {"hwprof.check/1", page_of<report::Check, report::check_document>},
    {"hwprof.fleet/1", page_of<report::Fleet, report::fleet_document>},
    {"hwprof.doctor/1", page_of<report::Doctor, report::doctor_document>},
    {"hwprof.peak/1", page_of<report::PeakReport, report::peak_document>},
};

}  // namespace

std::span<const std::string_view> saved_schemas() {
  static const auto schemas = [] {
    std::array<std::string_view, std::size(kSaved)> names;
    std::transform(std::begin(kSaved), std::end(kSaved), names.begin(),
                   [](const Saved& saved) { return saved.schema; });
    return names;
  }();
  return schemas;
}

Result<report::PageReport> saved_page(const ReportFile& file) {
  const auto saved = std::find_if(std::begin(kSaved), std::end(kSaved),
                                  [&](const Saved& one) { return one.schema == file.schema; });
  return saved->page(file);
}

}  // namespace hwprof
