// The tables of a network of layers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

std::string or_dash(const std::optional<double>& value, std::string (*format)(double)) {
  return value ? format(*value) : std::string(kAbsent);
}

std::string name_cell(const LayerRow& layer) {
  return fmt::format("{:>2} {}", layer.index, layer.label);
}

// The chart of the report, lying down: the longest layer has ten marks, those far above the others
// have another mark, as they are red there.
std::string bar(const LayerRow& layer, double longest) {
  if (!layer.share || longest == 0) return "";
  constexpr double kMarks = 10;
  const auto marks = static_cast<std::size_t>(*layer.share / longest * kMarks + 0.5);
  return std::string(marks, layer.far_above ? '#' : '-');
}

Table forms_table(const Layers& layers) {
  Table table{.title = "Inference: the whole, and the sum of its layers",
              .columns = {{"form", true},
                          {"whole\n(median)"},
                          {"sum of\nlayers"},
                          {"sum - whole\n(%)"},
                          {"layers"},
                          {"inferences", false, true},
                          {"what it is", true}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  for (const LayerForm& form : layers.forms) {
    if (!form.whole_ns) reasons.add(given(form.reason), form.name);
    table.rows.push_back(
        {"",
         {form.name, time_cell(form.whole_ns),
          form.whole_ns ? duration(form.sum_ns) : std::string(kAbsent),
          form.sum_to_whole ? fmt::format("{:+.2f}", (*form.sum_to_whole - 1) * 100)
                            : std::string(kAbsent),
          fmt::format("{}", form.layers.size()), fmt::format("{}", form.inferences),
          form.meaning}});
  }
  table.notes.push_back(fmt::format(
      "Inferences with a clock between the layers and without one are interleaved; both are "
      "medians. A reading of the clock takes {}, and is taken off each layer's time.",
      duration(layers.clock_ns)));
  append(table.notes, reasons.sentences());
  table.brief = reasons.sentences();
  return table;
}

Table layers_table(const LayerForm& form) {
  Table table{.title = fmt::format("Layers ({}), median of {}", form.name,
                                   counted(form.inferences, "inference")),
              .columns = {{"layer", true},
                          {"type", true},
                          {"time"},
                          {"% of\ninference"},
                          {"", true},
                          {"GFLOP/s"},
                          {"% of\nFMA peak"},
                          {"output", true, true},
                          {"variant", true, true},
                          {"FLOP", false, true},
                          {"bytes", false, true},
                          {"max rel.\nerror", false, true}},
              .rows = {},
              .notes = {}};
  double longest = 0;
  bool far = false;
  for (const LayerRow& layer : form.layers) longest = std::max(longest, layer.share.value_or(0));
  for (const LayerRow& layer : form.layers) {
    const Row& row = layer.row;
    far = far || layer.far_above;
    table.rows.push_back(
        {"",
         {name_cell(layer), layer.name, work_cell(row), or_dash(layer.share, in_percent),
          bar(layer, longest), row.gflops ? significant(*row.gflops, 3) : std::string(kAbsent),
          or_dash(row.peak_fraction, in_percent), fmt::format("{}", fmt::join(layer.output, "x")),
          row.variant, si(row.model.flops, ""), binary_bytes(row.model.bytes),
          or_dash(row.max_rel_error, scientific)},
         fmt::format("/layers/{}", table.rows.size())});
  }
  if (far) {
    table.notes.push_back(
        fmt::format("#: a layer that takes more than {} times the mean of the layers.", kFarAbove));
  }
  table.notes.push_back("ReLU, reshape and pooling by maximum have no FLOP, hence no GFLOP/s.");
  return table;
}

// What the brief form has of many layers.
constexpr std::size_t kMostInBrief = 8;

Table longest_layers(const LayerForm& form) {
  LayerForm few = form;
  std::stable_sort(few.layers.begin(), few.layers.end(), [](const LayerRow& a, const LayerRow& b) {
    return a.share.value_or(0) > b.share.value_or(0);
  });
  few.layers.resize(kMostInBrief);
  Table table = layers_table(few);
  table.title = fmt::format("Longest of {} layers ({}), median of {}", form.layers.size(),
                            form.name, counted(form.inferences, "inference"));
  return table;
}

Table layer_counters_table(const LayerForm& form, const std::vector<EventCount>& nothing) {
  std::vector<const Row*> rows;
  for (const LayerRow& layer : form.layers) {
    if (!layer.row.counters.empty()) rows.push_back(&layer.row);
  }
  if (rows.empty()) return {};
  const auto head = [&form](const Row& row) {
    const auto layer = std::find_if(form.layers.begin(), form.layers.end(),
                                    [&row](const LayerRow& one) { return &one.row == &row; });
    return TableRow{"", {name_cell(*layer)}};
  };
  Table table = counters_table(fmt::format("Counters of each layer ({})", form.name), rows, head);
  table.columns.front().title = "layer";
  std::vector<std::string> counts;
  for (const EventCount& count : nothing) {
    if (!count.value) continue;
    counts.push_back(fmt::format(
        "{} {}", count.name, count.unit == "ns" ? duration(*count.value) : si(*count.value, "")));
  }
  if (!counts.empty()) {
    table.notes.push_back(fmt::format(
        "Counting starts and stops around each layer, which is itself counted: nothing at all "
        "gives {}. A layer near that is too small to be told.",
        fmt::join(counts, ", ")));
  }
  return table;
}

Table types_table(const Layers& layers) {
  Table table{.title = "Layers by type, an inference",
              .columns = {{"FunctionName", true}, {"ElapsedTime"}, {"Occurrence"}, {"%"}},
              .rows = {},
              .notes = {},
              .groups = "form"};
  for (const LayerForm& form : layers.forms) {
    for (const LayerType& type : form.types) {
      table.rows.push_back({form.name,
                            {type.name, duration(type.elapsed_ns),
                             fmt::format("{}", type.occurrence), in_percent(type.share)}});
    }
  }
  return table;
}

TableRow against_cells(const std::string& group, const std::string& name, const AgainstRow& row) {
  return {group,
          {name, duration(row.theirs_ns), or_dash(row.ours_ns, duration),
           row.ratio ? significant(*row.ratio, 3) : std::string(kAbsent)}};
}

Table against_table(const Against& against) {
  Table table{.title = fmt::format("Against {}", against.file),
              .columns = {{"layer", true}, {"theirs"}, {"ours"}, {"theirs /\nours"}},
              .rows = {against_cells("all", "total", against.total)},
              .notes = {fmt::format("ours: the form {}. The two come from different machines or "
                                    "programs, unless you know better.",
                                    against.form)}};
  for (const AgainstRow& row : against.types) {
    table.rows.push_back(against_cells("by type", row.name, row));
  }
  std::size_t index = 0;
  for (const AgainstRow& row : against.layers) {
    table.rows.push_back(
        against_cells("by layer", fmt::format("{:>2} {} {}", index++, row.label, row.name), row));
  }
  return table;
}

}  // namespace

std::string layers_headline(const Profile& profile) {
  const LayerForm* fastest = nullptr;
  for (const LayerForm& form : profile.layers->forms) {
    if (!form.whole_ns) continue;
    if (fastest == nullptr || form.whole_ns->median < fastest->whole_ns->median) fastest = &form;
  }
  if (fastest == nullptr) return "No inference was measured.";
  return fmt::format("Fastest inference of {}: {}, {}.", profile.workload.name, fastest->name,
                     duration(fastest->whole_ns->median));
}

void add_layers(const Profile& profile, Document& document) {
  if (!profile.layers) return;
  const Layers& layers = *profile.layers;
  const LayerForm& first = layers.forms.front();
  Table longest = layers_table(first);
  if (longest.rows.size() > kMostInBrief) longest = longest_layers(first);
  document.in(Section::kLayers).add(forms_table(layers));
  document.add(std::move(longest), Detail::kBrief);
  document.add(layers_table(first), Detail::kFull);
  document.add(types_table(layers), Detail::kFull);
  if (layers.against) document.add(against_table(*layers.against));
  document.in(Section::kCounters).add(layer_counters_table(first, layers.nothing), Detail::kFull);
  std::vector<const Row*> rows;
  for (const LayerRow& layer : first.layers) rows.push_back(&layer.row);
  document.add(exact_table("Executed by each layer, counted exactly (a call)", "layers", rows),
               Detail::kFull);
}

}  // namespace hwprof::report
