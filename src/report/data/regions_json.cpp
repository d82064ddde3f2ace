// Regions for programs: the key "regions" of a report (docs/json.md), and a CSV of their own.
#include <fmt/format.h>

#include "src/report/data/csv_parts.h"
#include "src/report/documents/regions.h"

namespace hwprof::report {
namespace {

constexpr const char* kNoTime = "no call has ended";
constexpr const char* kNoFlops = "no floating-point operations were declared";

Json count_json(const RegionCount& count) {
  return {{"total", number(count.total)},
          {"self", number(count.self)},
          {"unit", count.unit},
          {"status", count.status},
          {"reason", or_null(count.reason)}};
}

Json row_json(const Region& row) {
  Json counts = Json::object();
  for (const RegionCount& count : row.counts) counts[count.name] = count_json(count);
  Json memory = nullptr;
  if (row.memory)
    memory = {{"self", row.memory->self_bytes},
              {"total", row.memory->total_bytes},
              {"peak", row.memory->peak_bytes}};
  return {{"name", row.name},
          {"type", or_null(row.type)},
          {"shape", or_null(row.shape)},
          {"path", row.path},
          {"depth", row.depth},
          {"threads", row.threads},
          {"calls", row.calls},
          {"total_ns", number(row.total_ns)},
          {"self_ns", number(row.self_ns)},
          {"time_reason", row.total_ns ? Json(nullptr) : Json(kNoTime)},
          {"total_share", number(row.total_share)},
          {"self_share", number(row.self_share)},
          {"flops", number(row.flops)},
          {"bytes", number(row.bytes)},
          {"gflops", number(row.gflops)},
          {"gflops_reason", row.gflops      ? Json(nullptr)
                            : row.flops > 0 ? Json(kNoTime)
                                            : Json(kNoFlops)},
          {"memory_bytes", memory},
          {"counters", counts}};
}

Json overhead_json(const std::vector<OverheadRow>& rows) {
  Json out = Json::array();
  for (const OverheadRow& row : rows) {
    out.push_back({{"mode", row.mode},
                   {"pass_ns", number(row.pass_ns)},
                   {"ratio", number(row.ratio)},
                   {"ratio_ci95", {number(row.ratio_low), number(row.ratio_high)}},
                   {"memory_bytes", or_null(row.memory_bytes)},
                   {"reason", or_null(row.reason)}});
  }
  return out;
}

csv::Cells csv_cells(const Region& row) {
  const auto memory = [&](auto RegionMemory::*member) {
    return row.memory ? fmt::format("{}", *row.memory.*member) : "";
  };
  csv::Cells cells = {{"name", row.name},
                      {"path", path_of(row)},
                      {"type", row.type},
                      {"shape", row.shape},
                      {"depth", fmt::format("{}", row.depth)},
                      {"threads", fmt::format("{}", row.threads)},
                      {"calls", fmt::format("{}", row.calls)},
                      {"total_ns", csv::number(row.total_ns)},
                      {"self_ns", csv::number(row.self_ns)},
                      {"total_share", csv::number(row.total_share)},
                      {"self_share", csv::number(row.self_share)},
                      {"flops", csv::number(row.flops)},
                      {"bytes", csv::number(row.bytes)},
                      {"gflops", csv::number(row.gflops)},
                      {"memory_self_bytes", memory(&RegionMemory::self_bytes)},
                      {"memory_total_bytes", memory(&RegionMemory::total_bytes)},
                      {"memory_peak_bytes", memory(&RegionMemory::peak_bytes)}};
  for (const RegionCount& count : row.counts) {
    const std::string name = count.name + (count.unit == "ns" ? "_ns" : "");
    cells.emplace_back(name + "_total", csv::number(count.total));
    cells.emplace_back(name + "_self", csv::number(count.self));
    cells.emplace_back(count.name + "_reason", count.reason);
  }
  return cells;
}

}  // namespace

Json regions_json(const std::optional<Regions>& regions) {
  if (!regions) return nullptr;
  Json rows = Json::array();
  for (const Region& row : regions->rows) rows.push_back(row_json(row));
  Json trace = nullptr;
  if (regions->trace)
    trace = {{"path", regions->trace->path},
             {"calls", regions->trace->calls},
             {"dropped", regions->trace->dropped}};
  const RegionView& view = regions->view;
  return {{"work", or_null(regions->work)},
          {"group_by", to_string(view.group_by)},
          {"sort", or_null(view.sort)},
          {"top", known(view.top)},
          {"depth", known(view.depth)},
          {"hidden", regions->hidden},
          {"processes", regions->processes},
          {"rows", rows},
          {"memory_reason", or_null(regions->memory_reason)},
          {"notes", regions->notes},
          {"trace", trace},
          {"overhead", overhead_json(regions->overhead)}};
}

std::string regions_csv(const Regions& regions) {
  // Without a row the header names the columns that there always are.
  std::string out =
      csv::line_of(csv_cells(regions.rows.empty() ? Region() : regions.rows.front()), true);
  for (const Region& row : regions.rows) out += csv::line_of(csv_cells(row), false);
  return out;
}

}  // namespace hwprof::report
