#include "src/report/data/csv_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/report/printable.h"

namespace hwprof::report::csv {
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

}  // namespace

std::string number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

std::string line_of(const Cells& cells, bool header) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : cells) fields.push_back(quoted(header ? name : value));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace hwprof::report::csv
