// The points of a sweep in a terminal: a power of the size is a straight line here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/report/documents/sweep_content.h"
#include "src/report/render/format.h"

namespace hwprof::report {
namespace {

constexpr int kRows = 13;
constexpr int kLabel = 9;     // "12.3 ms |" is the widest
constexpr int kWidest = 100;  // a wider plot shows no more
constexpr char kModel = '.';
constexpr char kMeasured = 'o';

struct Axis {
  double low = 0, high = 0;  // logarithms
  int cells = 0;

  explicit Axis(const std::set<double>& values, int of)
      : low(std::log(*values.begin())), high(std::log(*values.rbegin())), cells(of) {}
  [[nodiscard]] int cell(double value) const {
    if (high <= low) return 0;
    return static_cast<int>(std::lround((std::log(value) - low) / (high - low) * (cells - 1)));
  }
  [[nodiscard]] double value(int at) const {
    return std::exp(low + (high - low) * at / (cells - 1));
  }
};

// Of two swept sizes each value of the second has a letter.
std::map<std::uint64_t, char> letters(const Sweep& sweep) {
  std::map<std::uint64_t, char> marks;
  if (sweep.swept.size() < 2) return marks;
  for (const SweepPoint& point : sweep.points) marks.emplace(point.at[1], kMeasured);
  char letter = 'a';
  for (auto& [size, mark] : marks) mark = letter == 'z' ? 'z' : letter++;
  return marks;
}

std::string size_labels(const Sweep& sweep, const Axis& x) {
  std::string line(static_cast<std::size_t>(kLabel), ' ');
  for (const SweepPoint& point : sweep.points) {
    const std::string label = fmt::format("{}", point.at[0]);
    const auto middle = static_cast<std::size_t>(kLabel + x.cell(static_cast<double>(point.at[0])));
    const std::size_t most = static_cast<std::size_t>(kLabel + x.cells) - label.size();
    const std::size_t centred = middle - label.size() / 2;
    const std::size_t at = std::clamp(centred, static_cast<std::size_t>(kLabel), most);
    if (at < line.size() + (line.find_first_not_of(' ') == line.npos ? 0 : 2)) continue;
    line.resize(at, ' ');
    line += label;
  }
  return line;
}

}  // namespace

std::vector<std::string> sweep_plot(const Sweep& sweep, int columns) {
  std::set<double> sizes, times;
  std::size_t measured = 0;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const auto& time = sweep.run.rows[i].time_ns;
    if (!time || !sweep.points[i].model_ns) continue;
    ++measured;
    sizes.insert(static_cast<double>(sweep.points[i].at[0]));
    times.insert(time->median);
    times.insert(*sweep.points[i].model_ns);
  }
  if (measured < 2) return {};
  const Axis x(sizes, std::min(columns, kWidest) - kLabel), y(times, kRows);
  std::vector<std::string> area(kRows, std::string(static_cast<std::size_t>(x.cells), ' '));
  const auto mark = [&](std::uint64_t size, double ns, char with) {
    area[static_cast<std::size_t>(kRows - 1 - y.cell(ns))]
        [static_cast<std::size_t>(x.cell(static_cast<double>(size)))] = with;
  };
  const std::map<std::uint64_t, char> marks = letters(sweep);
  for (const bool model : {true, false}) {  // a measured point covers the model's
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
      const SweepPoint& point = sweep.points[i];
      const auto& time = sweep.run.rows[i].time_ns;
      if (!time || !point.model_ns) continue;
      if (model) mark(point.at[0], *point.model_ns, kModel);
      if (!model)
        mark(point.at[0], time->median, marks.empty() ? kMeasured : marks.at(point.at[1]));
    }
  }
  std::vector<std::string> lines;
  constexpr int kLabelEvery = 4;
  for (int row = 0; row < kRows; ++row) {
    const int height = kRows - 1 - row;
    const bool labelled = height % kLabelEvery == 0 || row == 0;
    std::string line = fmt::format("{:>{}} |{}", labelled ? duration(y.value(height)) : "",
                                   kLabel - 2, area[static_cast<std::size_t>(row)]);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  lines.push_back(fmt::format("{:>{}}+{}", "", kLabel - 1,
                              std::string(static_cast<std::size_t>(x.cells), '-')));
  lines.push_back(size_labels(sweep, x));
  std::string legend = fmt::format("time of a call against {}, both axes logarithmic; {} model",
                                   sweep.swept[0].name, kModel);
  if (marks.empty()) legend += fmt::format(", {} measured", kMeasured);
  for (const auto& [size, with] : marks)
    legend += fmt::format(", {} {}={}", with, sweep.swept[1].name, size);
  lines.push_back(std::move(legend));
  return lines;
}

}  // namespace hwprof::report
