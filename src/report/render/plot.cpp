// A plot in characters, for a terminal and for markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/base/format.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

constexpr int kRows = 13;
constexpr int kLabelEvery = 4;
constexpr int kLabel = 9;     // "12.3 ms |" is the widest
constexpr int kWidest = 100;  // a wider plot shows no more

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

std::string size_labels(const std::set<double>& sizes, const Axis& x) {
  std::string line(static_cast<std::size_t>(kLabel), ' ');
  for (const double size : sizes) {
    const std::string label = fmt::format("{:.0f}", size);
    const auto middle = static_cast<std::size_t>(kLabel + x.cell(size));
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

std::vector<std::string> plot_lines(const Plot& plot, int columns) {
  std::set<double> sizes, times;
  for (const Series& series : plot.series) {
    for (const auto& [size, ns] : series.points) {
      sizes.insert(size);
      times.insert(ns);
    }
  }
  if (sizes.empty()) return {};
  const Axis x(sizes, std::min(columns, kWidest) - kLabel), y(times, kRows);
  std::vector<std::string> area(kRows, std::string(static_cast<std::size_t>(x.cells), ' '));
  std::string legend = plot.text;
  for (const Series& series : plot.series) {
    for (const auto& [size, ns] : series.points)
      area[static_cast<std::size_t>(kRows - 1 - y.cell(ns))]
          [static_cast<std::size_t>(x.cell(size))] = series.mark;
    const char* separator = &series == &plot.series.front() ? ";" : ",";
    legend += fmt::format("{} {} {}", separator, series.mark, series.name);
  }
  std::vector<std::string> lines;
  for (int row = 0; row < kRows; ++row) {
    const int height = kRows - 1 - row;
    const bool labelled = height % kLabelEvery == 0;
    std::string line = fmt::format("{:>{}} |{}", labelled ? duration(y.value(height)) : "",
                                   kLabel - 2, area[static_cast<std::size_t>(row)]);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  lines.push_back(fmt::format("{:>{}}+{}", "", kLabel - 1,
                              std::string(static_cast<std::size_t>(x.cells), '-')));
  lines.push_back(size_labels(sizes, x));
  lines.push_back(std::move(legend));
  return lines;
}

}  // namespace hwprof::report
