#include "src/report/documents/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

std::string rate_word(const std::optional<double>& value) {
  return value ? significant(*value, 3) : std::string(kAbsent);
}

// A reader splits the line at blanks.
std::string one_word(std::string_view text) {
  std::string word = printable(text);
  std::replace(word.begin(), word.end(), ' ', '_');
  return word.empty() ? std::string(kAbsent) : word;
}

}  // namespace

std::string check_line(const Check& check) {
  return fmt::format(
      "verdict={} gflops={} peak_fraction={} factor={} outcome={} provider={} core={}",
      to_text(check.blas.verdict), rate_word(check.gflops), rate_word(check.peak_fraction),
      rate_word(check.blas.factor), model::name_of(check.outcome),
      one_word(to_text(check.blas.provider)), one_word(check.blas.core));
}

}  // namespace hwprof::report
