// One line a point: its sizes, the laws of the whole sweep, then what a profile says of a row.
#include <fmt/format.h>

#include <iterator>

#include "src/report/data/writers.h"
#include "src/report/data/csv_parts.h"

namespace hwprof::report {
namespace {

using csv::Cells;
using csv::number;

std::string in_words(const std::optional<bool>& agrees) {
  return !agrees ? "" : *agrees ? "true" : "false";
}

Cells law_cells(const ScalingLaw& law) {
  const std::string prefix =
      fmt::format("{}_in_{}{}_", law.quantity, law.size, law.held == "joint" ? "_joint" : "");
  return {{prefix + "exponent", number(law.exponent)},
          {prefix + "exponent_low", number(law.low)},
          {prefix + "exponent_high", number(law.high)},
          {prefix + "model_exponent", number(law.model_exponent)},
          {prefix + "from", law.exponent ? fmt::format("{}", law.from) : ""},
          {prefix + "to", law.exponent ? fmt::format("{}", law.to) : ""},
          {prefix + "points", fmt::format("{}", law.points)},
          {prefix + "agrees", in_words(law.agrees)},
          {prefix + "text", law.text}};
}

Cells point_cells(const Sweep& sweep, std::size_t index) {
  const SweepPoint& point = sweep.points[index];
  Cells cells;
  for (std::size_t i = 0; i < sweep.swept.size(); ++i)
    cells.emplace_back(sweep.swept[i].name, fmt::format("{}", point.at[i]));
  const Cells of_point = {{"working_set_bytes", number(point.working_set_bytes)},
                          {"working_set_level", point.level},
                          {"model_ns", number(point.model_ns)},
                          {"time_to_model", number(point.time_to_model)},
                          {"agrees", in_words(sweep.agrees)}};
  cells.insert(cells.end(), of_point.begin(), of_point.end());
  for (const ScalingLaw& law : sweep.laws) {
    Cells of_law = law_cells(law);
    std::move(of_law.begin(), of_law.end(), std::back_inserter(cells));
  }
  Cells of_row = profile_cells(sweep.run, sweep.run.rows[index]);
  std::move(of_row.begin(), of_row.end(), std::back_inserter(cells));
  return cells;
}

}  // namespace

std::string sweep_csv(const Sweep& sweep) {
  std::string out;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Cells cells = point_cells(sweep, i);
    if (i == 0) out += csv::line_of(cells, true);
    out += csv::line_of(cells, false);
  }
  return out;
}

}  // namespace hwprof::report
