#include "src/commands/layers_record.h"

#include <algorithm>

#include "src/commands/profile_record.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

// The type of that name, added where it is new.
template <class Row>
Row& named(std::vector<Row>& rows, const std::string& name) {
  auto at =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (at == rows.end()) {
    at = rows.insert(rows.end(), Row());
    at->name = name;
  }
  return *at;
}

std::vector<report::LayerType> added_up(const std::vector<report::LayerRow>& layers) {
  std::vector<report::LayerType> types;
  for (const report::LayerRow& layer : layers) {
    if (!layer.row.time_ns) continue;
    report::LayerType& type = named(types, layer.name);
    type.elapsed_ns += layer.row.time_ns->median;
    type.share += layer.share.value_or(0);
    ++type.occurrence;
  }
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.elapsed_ns > b.elapsed_ns; });
  return types;
}

void set_ratio(report::AgainstRow& row) {
  if (row.ours_ns && *row.ours_ns > 0) row.ratio = row.theirs_ns / *row.ours_ns;
}

}  // namespace

report::LayerForm make_layer_form(const MeasuredForm& measured, const Ceilings& ceilings,
                                  int threads, const Limits& limits) {
  const LayerNet& net = measured.net;
  const LayerTimes* times = measured.times;
  report::LayerForm form;
  form.name = net.form().name;
  form.meaning = net.form().meaning;
  const bool timed = times != nullptr && !times->whole_ns.empty();
  if (timed) {
    form.whole_ns = summarise(times->whole_ns);
    form.inferences = times->whole_ns.size();
    form.sum_ns = median(times->sum_ns);
    form.sum_to_whole = form.sum_ns / form.whole_ns->median;
  } else {
    form.reason = net.reason().empty() ? "interrupted before it was measured" : net.reason();
  }
  double medians_ns = 0;
  for (std::size_t i = 0; timed && i < net.layers().size(); ++i) {
    medians_ns += median(times->layers[i].call_ns);
  }
  const double mean_ns = medians_ns / static_cast<double>(net.layers().size());
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const NetworkLayer& layer = net.network().layers[i];
    report::LayerRow& row = form.layers.emplace_back();
    row.index = i;
    row.name = layer.kind->type_name;
    row.label = layer.name;
    row.output = layer.output;
    const auto error = i < measured.errors.size() ? measured.errors[i] : std::nullopt;
    row.row = make_row(
        net.layers()[i].task(), timed ? &times->layers[i] : nullptr, error,
        error ? layer.output.front() : 0, ceilings, threads,
        i < measured.counters.size() ? measured.counters[i] : std::vector<EventCount>(), limits);
    if (!timed) {
      row.row.reason = form.reason;
      continue;
    }
    row.share = row.row.time_ns->median / medians_ns;
    row.far_above = row.row.time_ns->median > report::kFarAbove * mean_ns;
  }
  form.types = added_up(form.layers);
  return form;
}

report::Against make_against(const std::string& file, const report::LayerForm& form,
                             const std::vector<double>& seconds) {
  report::Against against{.file = file, .form = form.name, .layers = {}, .types = {}, .total = {}};
  against.total.name = "total";
  for (std::size_t i = 0; i < form.layers.size(); ++i) {
    const report::LayerRow& layer = form.layers[i];
    report::AgainstRow row{.name = layer.name,
                           .label = layer.label,
                           .theirs_ns = seconds[i] * 1e9,
                           .ours_ns = {},
                           .ratio = {}};
    if (layer.row.time_ns) row.ours_ns = layer.row.time_ns->median;
    set_ratio(row);
    for (report::AgainstRow* sum : {&named(against.types, layer.name), &against.total}) {
      sum->theirs_ns += row.theirs_ns;
      if (row.ours_ns) sum->ours_ns = sum->ours_ns.value_or(0) + *row.ours_ns;
    }
    against.layers.push_back(std::move(row));
  }
  for (report::AgainstRow& row : against.types) set_ratio(row);
  set_ratio(against.total);
  std::stable_sort(against.types.begin(), against.types.end(),
                   [](const auto& a, const auto& b) { return a.theirs_ns > b.theirs_ns; });
  return against;
}

}  // namespace hwprof
