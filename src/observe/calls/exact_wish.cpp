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

struct Examples {
  const char *none, *hint;
};
constexpr Examples kOfCalls{"says no call",
                            "cblas_sgemm is its first call, cblas_sgemm:5 the fifth, "
                            "cblas_sgemm:/100 the first of each 100"};
constexpr Examples kOfEntries{
    "says no entry",
    "conv1 is the first entry to that region, conv1:5 the fifth, conv1:/100 the first of each 100"};

Result<std::uint64_t> parse_number(std::string_view option, std::string_view text,
                                   std::string_view number, const Examples& examples) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || value == 0)
    return usage_error(fmt::format("{}: '{}' {}", option, text, examples.none), examples.hint);
  return value;
}

// `which` stands behind the colon.
Result<void> set_which(ExactWish& wish, std::string_view option, std::string_view text,
                       std::string_view which, const Examples& examples) {
  if (which.starts_with('/')) {
    TRY(wish.every, parse_number(option, text, which.substr(1), examples));
  } else {
    TRY(wish.first, parse_number(option, text, which, examples));
  }
  return {};
}

}  // namespace

Result<ExactWish> parse_exact_wish(std::string_view option, std::string_view text) {
  const std::size_t colon = text.find(':');
  ExactWish wish{.name = std::string(text.substr(0, colon))};
  if (colon != std::string_view::npos)
    TRY(set_which(wish, option, text, text.substr(colon + 1), kOfCalls));
  Routine routine;
  if (wish.name.size() < audit::kSymbolBytes && find_routine(wish.name.c_str(), routine))
    return wish;
  std::string hint = did_you_mean(nearest(wish.name, known_symbols()));
  if (hint.empty()) hint = "symbols are those of BLAS and LAPACK, as in cblas_sgemm and dgemm_";
  return usage_error(
      fmt::format("{}: '{}' is no routine whose calls can be counted", option, wish.name), hint);
}

Result<ExactWish> parse_exact_region(std::string_view option, std::string_view text) {
  ExactWish wish{.name = std::string(text), .of_region = true};
  const std::size_t colon = text.rfind(':');
  const std::string_view which = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (!which.empty() && (which[0] == '/' || (which[0] >= '0' && which[0] <= '9'))) {
    wish.name.resize(colon);
    TRY(set_which(wish, option, text, which, kOfEntries));
  }
  if (wish.name.empty())
    return usage_error(fmt::format("{}: '{}' names no region", option, text), kOfEntries.hint);
  if (wish.name.size() >= audit::kExactNameBytes)
    return usage_error(fmt::format("{}: the name of the region has {} bytes, and {} is the most",
                                   option, wish.name.size(), audit::kExactNameBytes - 1));
  return wish;
}

}  // namespace hwprof::observe
