// Why a table has gaps: an absent number is "-" in its cell, and each reason is said once below the
// table, with the things it holds for.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/record.h"
#include "src/report/render/format.h"

namespace hwprof::report {

// Distinct reasons in the order of their first use, each with the things it holds for.
class Reasons {
 public:
  void add(const std::string& reason, const std::string& who) {
    auto at = std::find_if(list_.begin(), list_.end(),
                           [&](const auto& entry) { return entry.first == reason; });
    if (at == list_.end()) at = list_.insert(list_.end(), {reason, {}});
    auto& names = at->second;
    if (std::find(names.begin(), names.end(), who) == names.end()) names.push_back(who);
  }
  [[nodiscard]] std::vector<std::string> sentences() const {
    std::vector<std::string> out;
    for (const auto& [reason, names] : list_) {
      out.push_back(fmt::format("{}: {}", fmt::join(names, ", "), reason));
    }
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> list_;
};

inline void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// A reason that its owner forgot to give is a bug elsewhere; the reader must still see that the
// number is missing for no stated reason.
inline std::string given(const std::string& reason) {
  return reason.empty() ? "no reason was given" : reason;
}

inline std::string name_of(const Row& row) { return row.op + " " + row.variant; }

// The cell of an optional number; where it is absent, the reason goes below the table.
template <class Format>
std::string cell(const std::optional<double>& value, Format format, Reasons& reasons,
                 const std::string& what, const std::string& reason) {
  if (value) return format(*value);
  reasons.add(given(reason), what);
  return std::string(kAbsent);
}

}  // namespace hwprof::report
