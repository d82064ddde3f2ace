// One line a row, so that runs of many machines can be put one below the other: what identifies the
// run stands in every line. Full precision; an empty cell is an absent number, its reason stands in
// the reason columns.
#include <fmt/format.h>

#include <map>

#include "src/report/content.h"
#include "src/report/csv_parts.h"
#include "src/report/writers.h"

namespace hwprof::report {
namespace {

using csv::Cells;
using csv::line_of;
using csv::number;

Cells run_cells(const Profile& profile) {
  const Blas& blas = profile.blas;
  const auto& peak = profile.peak;
  return {{"hwprof_version", profile.version},
          {"started_utc", profile.started_utc},
          {"partial", profile.partial ? "true" : "false"},
          {"cpu", profile.machine.cpu_name},
          {"pinned_cpus", format_cpu_list(profile.pin.actual)},
          {"peak_gflops", peak ? number(peak->f32_gflops) : ""},
          {"peak_isa", peak ? peak->isa : ""},
          {"blas_provider", blas.provider.value_or("")},
          {"blas_version", blas.version},
          {"blas_core", blas.core},
          {"blas_verdict", blas.verdict},
          {"blas_factor", number(blas.factor)}};
}

Cells row_cells(const Profile& profile, const Row& row) {
  const auto& time = row.time_ns;
  const auto of_time = [&](auto TimeNs::*member) { return time ? number((*time).*member) : ""; };
  return {{"op", row.op},
          {"variant", row.variant},
          {"shape", shape_of(row)},
          {"threads", fmt::format("{}", row.threads)},
          {"calls", fmt::format("{}", row.calls)},
          {"time_median_ns", of_time(&TimeNs::median)},
          {"time_ci95_low_ns", of_time(&TimeNs::ci95_low)},
          {"time_ci95_high_ns", of_time(&TimeNs::ci95_high)},
          {"time_min_ns", of_time(&TimeNs::min)},
          {"time_mean_ns", of_time(&TimeNs::mean)},
          {"time_slices", time ? fmt::format("{}", time->samples) : ""},
          {"model_flops_per_call", number(row.model.flops)},
          {"model_comparisons_per_call", number(row.model.comparisons)},
          {"model_bytes_per_call", number(row.model.bytes)},
          {"model_cost_units_per_call", number(row.model.cost_units)},
          {"gflops", number(row.gflops)},
          {"peak_fraction", number(row.peak_fraction)},
          {"peak_fraction_low", number(row.peak_fraction_low)},
          {"peak_fraction_high", number(row.peak_fraction_high)},
          {"peak_fraction_reason", peak_fraction_reason(profile, row)},
          {"intensity_flop_per_byte", number(row.intensity)},
          {"bound", row.bound},
          {"bandwidth_level", row.bandwidth_level},
          {"roofline_ns", number(row.roofline_ns)},
          {"roofline_fraction", number(row.roofline_fraction)},
          {"pass", row.pass},
          {"forward_share", number(row.forward_share)},
          {"max_rel_error", number(row.max_rel_error)},
          {"checked_documents", fmt::format("{}", row.checked_documents)},
          {"counted_to_model_flops", number(row.counted_to_model_flops)},
          {"reason", row.reason}};
}

// The columns of one event; all empty in a row in which it was not asked for.
Cells counter_cells(const std::string& name, const std::string& unit, const EventCount* count) {
  const std::string prefix = name + (unit == "ns" ? "_ns" : "");
  return {{prefix + "_per_call", count ? number(count->value) : ""},
          {name + "_status", count ? to_string(count->status) : ""},
          {name + "_coverage", count ? number(count->coverage) : ""},
          {prefix + "_total", count ? number(count->total) : ""},
          {name + "_calls", count ? number(count->calls) : ""},
          {name + "_event", count ? count->event : ""},
          {name + "_source", count ? count->source : ""},
          {name + "_reason", count ? count->reason : ""},
          {name + "_shown_as", count ? count->shown_as : ""},
          {name + "_implausible", count ? count->implausible : ""}};
}

}  // namespace

Cells profile_cells(const Profile& profile, const Row& row) {
  std::map<std::string, std::string> units;
  for (const Row& any : profile.rows) {
    for (const EventCount& count : any.counters) units.emplace(count.name, count.unit);
  }
  Cells cells = run_cells(profile);
  for (auto& cell : row_cells(profile, row)) cells.push_back(std::move(cell));
  for (const std::string& event : event_names(profile.rows)) {
    for (auto& cell : counter_cells(event, units[event], find_count(row, event))) {
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::string profile_csv(const Profile& profile) {
  std::string out = line_of(profile_cells(profile, {}), true);
  for (const Row& row : profile.rows) out += line_of(profile_cells(profile, row), false);
  return out;
}

}  // namespace hwprof::report
