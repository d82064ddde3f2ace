// Why a table has gaps: an absent number is "-" in its cell, and each reason is said once below the
// table, with the things it holds for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/format.h"
#include "src/model/record.h"

namespace hwprof::report {

// Distinct reasons in the order of their first use, each with the things it holds for.
class Reasons {
 public:
  void add(const std::string& reason, const std::string& who);
  [[nodiscard]] std::vector<std::string> sentences() const;  // "flops, llc-miss: no PMU"

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
