// What the CSV writers share: lines of cells (RFC 4180, but they end in a plain newline). Internal
// to src/report.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/report/printable.h"

namespace hwprof::report {

using CsvCells = std::vector<std::pair<std::string, std::string>>;  // header -> cell

inline std::string csv_quoted(const std::string& text) {
  const std::string visible = printable(text);
  if (visible.find_first_of(",\"\r\n") == std::string::npos) return visible;
  std::string out = "\"";
  for (const char c : visible) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

// Empty where it is absent.
inline std::string csv_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

inline std::string csv_line(const CsvCells& cells, bool header) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : cells) fields.push_back(csv_quoted(header ? name : value));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace hwprof::report
