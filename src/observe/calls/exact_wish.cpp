#include "src/observe/calls/exact_wish.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "src/base/suggest.h"
#include "src/observe/audit/table.h"
#include "src/observe/routines/blas_routine.h"

namespace hwprof::observe {
namespace {

// In both interfaces, without the suffixes of 64-bit integers.
std::vector<std::string> known_symbols() {
  std::vector<std::string> known;
  const auto add = [&](const auto& operations, bool has_c_interface) {
    for (const auto& operation : operations) {
      for (const char* type = operation.types; *type != '\0'; ++type) {
        known.push_back(fmt::format("{}{}_", *type, operation.name));
        if (has_c_interface) known.push_back(fmt::format("cblas_{}{}", *type, operation.name));
      }
    }
  };
  add(routine_names::kOperations, true);
  add(routine_names::kLapack, false);
  return known;
}

Result<std::uint64_t> parse_number(std::string_view option, std::string_view text,
                                   std::string_view number) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || value == 0)
    return usage_error(fmt::format("{}: '{}' says no call", option, text),
                       "cblas_sgemm is its first call, cblas_sgemm:5 the fifth, cblas_sgemm:/100 "
                       "the first of each 100");
  return value;
}

}  // namespace

Result<ExactWish> parse_exact_wish(std::string_view option, std::string_view text) {
  const std::size_t colon = text.find(':');
  ExactWish wish{.symbol = std::string(text.substr(0, colon))};
  if (colon != std::string_view::npos) {
    const std::string_view call = text.substr(colon + 1);
    if (call.starts_with('/')) {
      TRY(wish.every, parse_number(option, text, call.substr(1)));
    } else {
      TRY(wish.first, parse_number(option, text, call));
    }
  }
  Routine routine;
  if (wish.symbol.size() < audit::kSymbolBytes && find_routine(wish.symbol.c_str(), routine))
    return wish;
  std::string hint = did_you_mean(nearest(wish.symbol, known_symbols()));
  if (hint.empty()) hint = "symbols are those of BLAS and LAPACK, as in cblas_sgemm and dgemm_";
  return usage_error(
      fmt::format("{}: '{}' is no routine whose calls can be counted", option, wish.symbol), hint);
}

}  // namespace hwprof::observe
