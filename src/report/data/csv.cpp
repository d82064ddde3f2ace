// RFC 4180, but lines end in a plain newline, as Unix tools expect. One line a row, so that runs of
// many machines can be put one below the other: what identifies the run stands in every line. A
// network of layers has a line a layer instead; of a workload that learns, a line a phase and a
// line an epoch follow. Full precision; an empty cell is an absent number, its reason stands in the
// reason columns. Columns and their names are those of the records (src/model/fields.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "counters/machine/affinity.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/data/writers.h"
#include "src/report/documents/inspect.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

using model::Type;
using CsvCells = std::vector<std::pair<std::string, std::string>>;  // header -> cell

std::string quoted_cell(const std::string& text) {
  const std::string visible = printable(text);
  if (visible.find_first_of(",\"\r\n") == std::string::npos) return visible;
  std::string out = "\"";
  for (const char c : visible) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_line(const CsvCells& cells, bool header) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : cells) fields.push_back(quoted_cell(header ? name : value));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

// The names of the columns, then a line each.
std::string csv_text(const CsvCells& header, const std::vector<CsvCells>& lines) {
  std::string out = csv_line(header, true);
  for (const CsvCells& line : lines) out += csv_line(line, false);
  return out;
}

void append_cells(CsvCells& to, CsvCells more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

std::string cell_of(const Type& type, const void* value, const model::Field& field) {
  if (type.kind == Type::kOptional)
    return type.size(value) == 0 ? "" : cell_of(*type.item, type.at(value, 0), field);
  if (type.kind == Type::kList) {  // of CPUs
    CpuList cpus;
    for (std::size_t i = 0; i < type.size(value); ++i)
      cpus.push_back(
          static_cast<unsigned>(std::get<std::uint64_t>(type.item->get(type.at(value, i)))));
    return format_cpu_list(cpus);
  }
  if (type.kind == Type::kMap) {  // sizes: "k=2 d_e=300"
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < type.size(value); ++i)
      sizes.push_back(
          fmt::format("{}={}", type.key(value, i), cell_of(*type.item, type.at(value, i), field)));
    return fmt::format("{}", fmt::join(sizes, " "));
  }
  return std::visit(
      [&field](auto scalar) -> std::string {
        using T = decltype(scalar);
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else {
          if constexpr (std::is_same_v<T, double>) {
            if (!std::isfinite(scalar)) return "";
          }
          if constexpr (std::is_same_v<T, std::uint64_t>) {
            if (scalar == 0 && field.is(model::Field::kNullIfEmpty)) return "";
          }
          return fmt::format("{}", scalar);
        }
      },
      type.get(value));
}

void add_cells(std::span<const model::Field> fields, const void* record, bool last, CsvCells& to);

// `value`: nullptr, of a record that is absent: its columns are empty.
void add_cells_of(const model::Field& field, const void* value, CsvCells& to) {
  const Type* type = field.type;
  if (field.in_csv == "*") {
    if (type->kind == Type::kOptional) {
      value = value == nullptr || type->size(value) == 0 ? nullptr : type->at(value, 0);
      type = type->item;
    }
    add_cells(type->record().fields, value, false, to);
    return;
  }
  const std::size_t place = field.in_csv.find('#');
  if (place == std::string_view::npos) {
    to.emplace_back(field.in_csv, value == nullptr ? "" : cell_of(*type, value, field));
    return;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::string name(field.in_csv);
    name.replace(place, 1, i == 0 ? "low" : "high");
    to.emplace_back(std::move(name),
                    value == nullptr ? "" : cell_of(*type->item, type->at(value, i), field));
  }
}

void add_cells(std::span<const model::Field> fields, const void* record, bool last, CsvCells& to) {
  for (const model::Field& field : fields) {
    if (field.in_csv.empty() || field.is(model::Field::kLastColumn) != last) continue;
    if (record == nullptr || field.at != nullptr) {
      add_cells_of(field, record == nullptr ? nullptr : field.at(record), to);
      continue;
    }
    struct Context {
      const model::Field& field;
      CsvCells& to;
    } context{field, to};
    field.compute(record, &context, [](void* with, const void* computed) {
      const auto& known = *static_cast<Context*>(with);
      add_cells_of(known.field, computed, known.to);
    });
  }
}

template <class T>
CsvCells cells_of(const T* value, bool last = false) {
  CsvCells cells;
  add_cells(model::record<T>().fields, value, last, cells);
  return cells;
}

// The columns of one event, whose name they begin with.
template <class T>
CsvCells cells_of_event(const std::string& name, const std::string& unit, const T* count) {
  CsvCells cells;
  for (const model::Field& field : model::record<T>().fields) {
    const std::size_t before = cells.size();
    add_cells(std::span(&field, 1), count, false, cells);
    const bool in_ns = field.is(model::Field::kUnitInColumn) && unit == "ns";
    for (std::size_t i = before; i < cells.size(); ++i)
      cells[i].first = fmt::format("{}{}_{}", name, in_ns ? "_ns" : "", cells[i].first);
  }
  return cells;
}

CsvCells row_cells(const Row* row) {
  CsvCells cells = cells_of(row);
  append_cells(cells, cells_of(row, true));
  return cells;
}

// What a layer of a network has besides its row.
CsvCells layer_cells(const LayerForm* form, const LayerRow* layer, const AgainstRow* against) {
  CsvCells cells = cells_of(form);
  append_cells(cells, cells_of(layer));
  add_cells(model::form_columns(), form, false, cells);
  append_cells(cells, cells_of(against));
  return cells;
}

// What an epoch and a phase of training have besides op and variant; empty in every other line.
CsvCells training_cells(const Epoch* epoch, const TrainingPhase* phase) {
  CsvCells cells = cells_of(epoch);
  append_cells(cells, cells_of(phase));
  return cells;
}

struct CsvLine {
  CsvCells of_layer, of_row;
  std::span<const EventCount> counters;
  CsvCells of_training;
};

// The columns of a row, without what only a row has.
CsvCells named_cells(const std::string& op, const std::string& variant) {
  Row row;
  row.op = op;
  row.variant = variant;
  CsvCells cells = row_cells(nullptr);
  const CsvCells named = row_cells(&row);
  std::copy_n(named.begin(), 2, cells.begin());
  return cells;
}

std::vector<CsvLine> layer_lines(const Layers& layers) {
  std::vector<CsvLine> lines;
  for (const LayerForm& form : layers.forms) {
    const bool compared = layers.against && layers.against->form == form.name;
    for (std::size_t i = 0; i < form.layers.size(); ++i) {
      const LayerRow& layer = form.layers[i];
      lines.push_back(
          {layer_cells(&form, &layer, compared ? &layers.against->layers.at(i) : nullptr),
           row_cells(&layer.row),
           layer.row.counters,
           {}});
    }
  }
  return lines;
}

void add_training_lines(const Training& training, std::vector<CsvLine>& lines) {
  const auto add_phase = [&](const std::string& variant, const TrainingPhase& phase) {
    lines.push_back(
        {{}, named_cells("phase", variant), phase.counters, training_cells(nullptr, &phase)});
  };
  for (CsvLine& line : lines) line.of_training = training_cells(nullptr, nullptr);
  add_phase("", training.load);
  for (const TrainingRun& run : training.runs) {
    for (const Epoch& epoch : run.epochs)
      lines.push_back({{}, named_cells("epoch", run.variant), {}, training_cells(&epoch, nullptr)});
    for (const TrainingPhase& phase : run.phases) add_phase(run.variant, phase);
  }
}

std::vector<CsvLine> csv_lines(const Profile& profile) {
  if (profile.layers) return layer_lines(*profile.layers);
  std::vector<CsvLine> lines;
  for (const Row& row : profile.rows) lines.push_back({{}, row_cells(&row), row.counters, {}});
  if (profile.training) add_training_lines(*profile.training, lines);
  return lines;
}

// With their units, in the order of first use.
using EventColumns = std::vector<std::pair<std::string, std::string>>;

void add_events(std::span<const EventCount> counters, EventColumns& events) {
  for (const EventCount& count : counters) {
    const std::pair event{count.name, count.unit};
    if (std::find(events.begin(), events.end(), event) == events.end()) events.push_back(event);
  }
}

CsvCells profile_cells(const Profile& profile, const CsvLine& line, const EventColumns& events) {
  CsvCells cells = cells_of(&profile);
  append_cells(cells, line.of_layer);
  append_cells(cells, line.of_row);
  for (const auto& [event, unit] : events) {
    // By name: Clang 14 lets no lambda refer to a structured binding.
    const auto at =
        std::find_if(line.counters.begin(), line.counters.end(),
                     [&wanted = event](const EventCount& count) { return count.name == wanted; });
    append_cells(cells, cells_of_event(event, unit, at == line.counters.end() ? nullptr : &*at));
  }
  append_cells(cells, line.of_training);
  return cells;
}

CsvCells region_cells(const Region& region) {
  CsvCells cells = cells_of(&region);
  for (const RegionCount& count : region.counts)
    append_cells(cells, cells_of_event(count.name, count.unit, &count));
  return cells;
}

CsvCells point_cells(const Sweep& sweep, const SweepPoint& point, const EventColumns& events) {
  CsvCells cells;
  for (const auto& [name, size] : point.at) cells.emplace_back(name, fmt::format("{}", size));
  append_cells(cells, cells_of(&point));
  append_cells(cells, cells_of(&sweep));
  for (const ScalingLaw& law : sweep.laws) {
    const std::string prefix =
        fmt::format("{}_in_{}{}_", law.quantity, law.size, law.held == "joint" ? "_joint" : "");
    for (auto& [name, value] : cells_of(&law)) cells.emplace_back(prefix + name, value);
  }
  append_cells(
      cells, profile_cells(sweep.run, {{}, row_cells(&point.row), point.row.counters, {}}, events));
  return cells;
}

// Of one row; of a name of a row alone, which only one of the files has.
CsvCells compared_cells(const Comparison& comparison, const ComparedFile* file,
                        const ComparedRow& row) {
  CsvCells cells = {{"baseline", comparison.baseline.path}};
  append_cells(cells, cells_of(file));
  append_cells(cells, cells_of(&row));
  append_cells(cells, cells_of(&comparison));
  append_cells(cells, cells_of(&row, true));
  return cells;
}

}  // namespace

std::string profile_csv(const Profile& profile) {
  const std::vector<CsvLine> lines = csv_lines(profile);
  EventColumns events;
  for (const CsvLine& line : lines) add_events(line.counters, events);
  const CsvLine none{profile.layers ? layer_cells(nullptr, nullptr, nullptr) : CsvCells(),
                     row_cells(nullptr),
                     {},
                     profile.training ? training_cells(nullptr, nullptr) : CsvCells()};
  std::vector<CsvCells> cells;
  for (const CsvLine& line : lines) cells.push_back(profile_cells(profile, line, events));
  return csv_text(profile_cells(profile, none, events), cells);
}

std::string sweep_csv(const Sweep& sweep) {
  EventColumns events;
  for (const SweepPoint& point : sweep.points) add_events(point.row.counters, events);
  std::vector<CsvCells> lines;
  for (const SweepPoint& point : sweep.points) lines.push_back(point_cells(sweep, point, events));
  return lines.empty() ? "" : csv_text(lines.front(), lines);
}

std::string node_csv(const Node& node) {
  const auto cells_of_process = [](const NodeProcess* process) {
    CsvCells cells;
    add_cells(model::record<NodeProcess>().fields, process, false, cells);
    return cells;
  };
  std::vector<CsvCells> lines;
  for (const NodeProcess& process : node.processes) lines.push_back(cells_of_process(&process));
  return csv_text(cells_of_process(nullptr), lines);
}

std::string regions_csv(const Regions& regions) {
  std::vector<CsvCells> lines;
  for (const Region& region : regions.rows) lines.push_back(region_cells(region));
  // Without a row the header names the columns that there always are.
  return csv_text(lines.empty() ? region_cells({}) : lines.front(), lines);
}

std::string fleet_csv(const Fleet& fleet) {
  std::vector<CsvCells> lines;
  for (const FleetHost& host : fleet.hosts) lines.push_back(cells_of(&host));
  return csv_text(cells_of<FleetHost>(nullptr), lines);
}

std::string comparison_csv(const Comparison& comparison) {
  std::vector<CsvCells> lines;
  for (const FileComparison& file : comparison.files) {
    const auto add = [&](const ComparedRow& row) {
      lines.push_back(compared_cells(comparison, &file.file, row));
    };
    const auto add_unmatched = [&](const std::vector<std::string>& names, const char* verdict) {
      for (const std::string& name : names) {
        ComparedRow row;
        row.name = name;
        add(row);
        for (auto& [column, cell] : lines.back())
          if (column == "verdict") cell = verdict;
      }
    };
    for (const ComparedRow& row : file.rows) add(row);
    add_unmatched(file.only_in_baseline, "only-in-baseline");
    add_unmatched(file.only_here, "only-here");
  }
  return csv_text(compared_cells(comparison, nullptr, {}), lines);
}

}  // namespace hwprof::report
