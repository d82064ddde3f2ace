// One line a row, so that runs of many machines can be put one below the other: what identifies the
// run stands in every line. A network of layers has a line a layer instead; of a workload that
// learns, a line a phase and a line an epoch follow. Full precision; an empty cell is an absent
// number, its reason stands in the reason columns.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "src/report/data/csv_parts.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"

namespace hwprof::report {
namespace {

using csv::Cells;
using csv::line_of;
using csv::number;

Cells run_cells(const Profile& profile) {
  const ProfileBlas& blas = profile.blas;
  const auto& peak = profile.peak;
  return {{"hwprof_version", profile.version},
          {"started_utc", profile.started_utc},
          {"partial", profile.partial ? "true" : "false"},
          {"cpu", profile.machine.cpu_name},
          {"pinned_cpus", format_cpu_list(profile.pin.actual)},
          {"peak_gflops", peak ? number(peak->f32_gflops) : ""},
          {"peak_isa", peak ? peak->isa : ""},
          {"blas_provider", std::string(to_text(blas.provider))},
          {"blas_version", blas.version},
          {"blas_core", blas.core},
          {"blas_verdict", std::string(to_text(blas.verdict))},
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
          {"loops", row.repeated ? fmt::format("{}", row.repeated->loops) : ""},
          {"time_best_ns", row.repeated ? number(row.repeated->best_ns) : ""},
          {"outliers", row.repeated && row.repeated->outliers_reason.empty()
                           ? fmt::format("{}", row.repeated->outliers.size())
                           : ""},
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

// What a layer of a network has besides its row.
Cells layer_cells(const LayerForm& form, const LayerRow& layer, const AgainstRow* against) {
  const auto& whole = form.whole_ns;
  return {{"form", form.name},
          {"index", fmt::format("{}", layer.index)},
          {"layer", layer.name},
          {"label", layer.label},
          {"layer_share", number(layer.share)},
          {"far_above", layer.far_above ? "true" : "false"},
          {"inference_median_ns", whole ? number(whole->median) : ""},
          {"sum_of_layers_ns", number(form.sum_ns)},
          {"against_ns", against ? number(against->theirs_ns) : ""},
          {"against_ratio", against ? number(against->ratio) : ""}};
}

// What an epoch and a phase of training have besides op and variant; empty in every other line.
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

// The columns of a row, without what only a row has.
Cells named(const Profile& profile, const std::string& op, const std::string& variant) {
  Cells cells = row_cells(profile, {});
  for (auto& [name, value] : cells) value = name == "op" ? op : name == "variant" ? variant : "";
  return cells;
}

struct Line {
  Cells of_layer, of_row;
  std::span<const EventCount> counters;
  Cells of_training;
};

std::vector<Line> layer_lines(const Profile& profile, const Layers& layers) {
  std::vector<Line> lines;
  for (const LayerForm& form : layers.forms) {
    const bool compared = layers.against && layers.against->form == form.name;
    for (std::size_t i = 0; i < form.layers.size(); ++i) {
      const LayerRow& layer = form.layers[i];
      const AgainstRow* against = compared ? &layers.against->layers.at(i) : nullptr;
      lines.push_back({layer_cells(form, layer, against),
                       row_cells(profile, layer.row),
                       layer.row.counters,
                       {}});
    }
  }
  return lines;
}

void add_training_lines(const Profile& profile, const Training& training,
                        std::vector<Line>& lines) {
  const auto add_phase = [&](const std::string& variant, const TrainingPhase& phase) {
    lines.push_back(
        {{}, named(profile, "phase", variant), phase.counters, training_cells(nullptr, &phase)});
  };
  for (Line& line : lines) line.of_training = training_cells(nullptr, nullptr);
  add_phase("", training.load);
  for (const TrainingRun& run : training.runs) {
    for (const Epoch& epoch : run.epochs) {
      lines.push_back(
          {{}, named(profile, "epoch", run.variant), {}, training_cells(&epoch, nullptr)});
    }
    for (const TrainingPhase& phase : run.phases) add_phase(run.variant, phase);
  }
}

std::vector<Line> lines_of(const Profile& profile) {
  if (profile.layers) return layer_lines(profile, *profile.layers);
  std::vector<Line> lines;
  for (const Row& row : profile.rows)
    lines.push_back({{}, row_cells(profile, row), row.counters, {}});
  if (profile.training) add_training_lines(profile, *profile.training, lines);
  return lines;
}

// With their units, in the order of first use.
using Events = std::vector<std::pair<std::string, std::string>>;

void add_events(std::span<const EventCount> counters, Events& events) {
  for (const EventCount& count : counters) {
    const std::pair event{count.name, count.unit};
    if (std::find(events.begin(), events.end(), event) == events.end()) events.push_back(event);
  }
}

Cells cells_of(const Profile& profile, const Line& line, const Events& events) {
  Cells cells = run_cells(profile);
  const auto append = [&cells](const Cells& more) {
    cells.insert(cells.end(), more.begin(), more.end());
  };
  append(line.of_layer);
  append(line.of_row);
  for (const auto& [event, unit] : events) {
    // By name: Clang 14 lets no lambda refer to a structured binding.
    const auto at =
        std::find_if(line.counters.begin(), line.counters.end(),
                     [&wanted = event](const EventCount& count) { return count.name == wanted; });
    append(counter_cells(event, unit, at == line.counters.end() ? nullptr : &*at));
  }
  append(line.of_training);
  return cells;
}

}  // namespace

Cells profile_cells(const Profile& profile, const Row& row) {
  Events events;
  for (const Row& any : profile.rows) add_events(any.counters, events);
  return cells_of(profile, {{}, row_cells(profile, row), row.counters, {}}, events);
}

std::string profile_csv(const Profile& profile) {
  const std::vector<Line> lines = lines_of(profile);
  Events events;
  for (const Line& line : lines) add_events(line.counters, events);
  const Line none{profile.layers ? layer_cells({}, {}, nullptr) : Cells(),
                  row_cells(profile, {}),
                  {},
                  profile.training ? training_cells(nullptr, nullptr) : Cells()};
  std::string out = line_of(cells_of(profile, none, events), true);
  for (const Line& line : lines) out += line_of(cells_of(profile, line, events), false);
  return out;
}

}  // namespace hwprof::report
