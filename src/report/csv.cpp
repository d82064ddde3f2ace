// One line a row (RFC 4180, but lines end in a plain newline, as Unix tools expect), so that runs
// of many machines can be put one below the other: what identifies the run stands in every line. Of
// a workload that learns, a line a phase and a line an epoch follow.
// Full precision; an empty cell is an absent number, its reason stands in the reason columns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/report/content.h"
#include "src/report/printable.h"
#include "src/report/writers.h"

namespace hwprof::report {
namespace {

std::string quoted(const std::string& text) {
  const std::string visible = printable(text);
  if (visible.find_first_of(",\"\r\n") == std::string::npos) return visible;
  std::string out = "\"";
  for (const char c : visible) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

using Cells = std::vector<std::pair<std::string, std::string>>;  // header -> cell

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

std::string line_of(const Cells& cells, bool header) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : cells) fields.push_back(quoted(header ? name : value));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

// What an epoch and a phase of training have beside op and variant; empty in every other line.
Cells training_cells(const Epoch* epoch, const TrainingPhase* phase) {
  const auto of_epoch = [&](double Epoch::*member) { return epoch ? number(epoch->*member) : ""; };
  return {{"epoch", epoch ? fmt::format("{}", epoch->number) : ""},
          {"loss", of_epoch(&Epoch::loss)},
          {"accuracy", of_epoch(&Epoch::accuracy)},
          {"samples_per_s", of_epoch(&Epoch::samples_per_s)},
          {"phase", phase ? phase->name : ""},
          {"phase_calls", phase ? fmt::format("{}", phase->calls) : ""},
          {"phase_total_ns", phase ? number(phase->total_ns) : ""},
          {"phase_share", phase ? number(phase->share) : ""},
          {"phase_gflops", phase ? number(phase->gflops) : ""},
          {"phase_peak_fraction", phase ? number(phase->peak_fraction) : ""}};
}

void append(Cells& cells, Cells more) {
  for (auto& cell : more) cells.push_back(std::move(cell));
}

// The columns of all lines and their order; a line says what it has.
class Sheet {
 public:
  explicit Sheet(const Profile& profile) : profile_(profile), names_(event_names(profile.rows)) {
    for (const Row& row : profile.rows) note_events(row.counters);
    if (!profile.training) return;
    note_events(profile.training->load.counters);
    for (const TrainingRun& run : profile.training->runs) {
      for (const TrainingPhase& phase : run.phases) note_events(phase.counters);
    }
  }

  [[nodiscard]] std::string header() const { return line_of(cells({}, {}, {}), true); }
  [[nodiscard]] std::string row(const Row& row) const {
    return line_of(cells(row_cells(profile_, row), row.counters, training_cells(nullptr, nullptr)),
                   false);
  }
  [[nodiscard]] std::string epoch(const std::string& variant, const Epoch& epoch) const {
    return line_of(cells(named("epoch", variant), {}, training_cells(&epoch, nullptr)), false);
  }
  [[nodiscard]] std::string phase(const std::string& variant, const TrainingPhase& phase) const {
    return line_of(cells(named("phase", variant), phase.counters, training_cells(nullptr, &phase)),
                   false);
  }

 private:
  void note_events(const std::vector<EventCount>& counters) {
    for (const EventCount& count : counters) {
      if (std::find(names_.begin(), names_.end(), count.name) == names_.end()) {
        names_.push_back(count.name);
      }
      units_.emplace(count.name, count.unit);
    }
  }

  // The columns of a row, without what only a row has.
  [[nodiscard]] Cells named(const std::string& op, const std::string& variant) const {
    Cells cells = row_cells(profile_, {});
    for (auto& [name, value] : cells) value = name == "op" ? op : name == "variant" ? variant : "";
    return cells;
  }

  [[nodiscard]] Cells cells(Cells of_row, const std::vector<EventCount>& counters,
                            Cells of_training) const {
    Cells all = run_cells(profile_);
    append(all, of_row.empty() ? row_cells(profile_, {}) : std::move(of_row));
    for (const std::string& event : names_) {
      const auto at = std::find_if(counters.begin(), counters.end(),
                                   [&](const EventCount& count) { return count.name == event; });
      append(all, counter_cells(event, units_.at(event), at == counters.end() ? nullptr : &*at));
    }
    if (profile_.training) {
      append(all, of_training.empty() ? training_cells(nullptr, nullptr) : std::move(of_training));
    }
    return all;
  }

  const Profile& profile_;
  std::vector<std::string> names_;  // of events, in the order of first use
  std::map<std::string, std::string> units_;
};

}  // namespace

std::string profile_csv(const Profile& profile) {
  const Sheet sheet(profile);
  std::string out = sheet.header();
  for (const Row& row : profile.rows) out += sheet.row(row);
  if (!profile.training) return out;
  out += sheet.phase("", profile.training->load);
  for (const TrainingRun& run : profile.training->runs) {
    for (const Epoch& epoch : run.epochs) out += sheet.epoch(run.variant, epoch);
    for (const TrainingPhase& phase : run.phases) out += sheet.phase(run.variant, phase);
  }
  return out;
}

}  // namespace hwprof::report
