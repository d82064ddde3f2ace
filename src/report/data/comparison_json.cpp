// The contract hwprof.compare/1 (docs/json.md).
#include "src/report/data/json_parts.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"

namespace hwprof::report {
namespace {

Json file_json(const ComparedFile& file) {
  return {{"path", file.path},
          {"schema", file.schema},
          {"started_utc", or_null(file.started_utc)},
          {"command", file.command}};
}

Json row_json(const ComparedRow& row) {
  return {{"row", row.label},
          {"group", row.group},
          {"name", row.name},
          {"verdict", row.verdict},
          {"reason", or_null(row.reason)},
          {"ratio", number(row.ratio)},
          {"ratio_ci95", {number(row.ratio_low), number(row.ratio_high)}},
          {"p", number(row.p)},
          {"p_holm", number(row.p_holm)},
          {"baseline_ns", number(row.baseline_ns)},
          {"ns", number(row.ns)},
          {"baseline_samples", row.baseline_samples},
          {"samples", row.samples},
          {"peak_ratio", number(row.peak_ratio)},
          {"peak_ratio_ci95", {number(row.peak_ratio_low), number(row.peak_ratio_high)}}};
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  Json files = Json::array();
  for (const FileComparison& file : comparison.files) {
    Json rows = Json::array();
    for (const ComparedRow& row : file.rows) rows.push_back(row_json(row));
    files.push_back({{"file", file_json(file.file)},
                     {"rows", rows},
                     {"only_in_baseline", file.only_in_baseline},
                     {"only_here", file.only_here},
                     {"warnings", warnings_json(file.warnings)}});
  }
  const Headline head = headline(comparison);
  return json_text({{"schema", "hwprof.compare/1"},
                    {"hwprof", {{"version", comparison.version}}},
                    {"threshold", number(comparison.threshold)},
                    {"verdict", head.text},
                    {"baseline", file_json(comparison.baseline)},
                    {"files", files}});
}

}  // namespace hwprof::report
