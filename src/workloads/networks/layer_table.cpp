#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "src/workloads/inputs/line_reader.h"
#include "src/workloads/networks/layer_json.h"

namespace hwprof {
namespace {

constexpr std::string_view kHeader = "index,layer,seconds";

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t comma = line.find(','); comma != std::string_view::npos;
       comma = line.find(',')) {
    cells.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  cells.push_back(line);
  return cells;
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// One line, which must be layer `index` of the network.
Result<double> seconds_of(std::string_view line, std::size_t index, const Network& network,
                          const std::string& place) {
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.size() != 3) {
    return usage_error(fmt::format("{} has {} cells, not 3", place, cells.size()),
                       fmt::format("a table of layers has the columns {}", kHeader));
  }
  std::size_t number = 0;
  if (!parse(cells[0], number)) {
    return usage_error(fmt::format("{}: '{}' is no index", place, cells[0]));
  }
  if (number != index) {
    return usage_error(fmt::format("{}: the index is {}, and {} is next", place, number, index));
  }
  double seconds = 0;
  if (!parse(cells[2], seconds) || !std::isfinite(seconds) || seconds <= 0) {
    return usage_error(fmt::format("{}: '{}' is no time in seconds", place, cells[2]));
  }
  if (index >= network.layers.size()) {
    return usage_error(fmt::format("{}: the table goes on, and {} has only {} layers", place,
                                   network.name, network.layers.size()));
  }
  const std::string_view name = network.layers[index].kind->type_name;
  if (cells[1] != name) {
    return usage_error(fmt::format("{}: layer {} is {} there, and {} ({}) in {}", place, index,
                                   cells[1], name, network.layers[index].name, network.name),
                       "only tables of the same layers in the same order can be compared");
  }
  return seconds;
}

}  // namespace

Result<std::vector<double>> read_layer_table(const std::string& path, const Network& network) {
  Result<LineReader> reader = LineReader::open(path);
  if (!reader) return error_of(reader);
  const auto header = reader->next();
  if (!header) return error_of(header);
  if (!*header) return usage_error(fmt::format("{} is empty", path));
  if (**header != kHeader) {
    return usage_error(fmt::format("{} is no header of a table of layers", reader->place()),
                       fmt::format("it must be {}", kHeader));
  }
  std::vector<double> seconds;
  while (true) {
    const auto line = reader->next();
    if (!line) return error_of(line);
    if (!*line) break;
    const Result<double> time = seconds_of(**line, seconds.size(), network, reader->place());
    if (!time) return error_of(time);
    seconds.push_back(*time);
  }
  if (seconds.size() < network.layers.size()) {
    return usage_error(fmt::format("{} ends after {} layers, and {} has {}", path, seconds.size(),
                                   network.name, network.layers.size()),
                       "is it cut off?");
  }
  return seconds;
}

}  // namespace hwprof
