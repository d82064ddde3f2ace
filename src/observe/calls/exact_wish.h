// Which calls, or entries to a region, are to be counted instruction by instruction, as `hwprof run
// --exact` and `--exact-region` are told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace hwprof::observe {

// No program needs more counts of one routine, and each takes about a millisecond and a file.
inline constexpr std::uint64_t kMostExactCalls = 1000;

struct ExactWish {
  std::string name;  // of the routine, as in cblas_sgemm, or of the region
  bool of_region = false;
  std::uint64_t first = 1;
  std::uint64_t every = 0;  // from the first on; 0: that one alone
};

// "cblas_sgemm": its first call; "cblas_sgemm:5": the fifth; "cblas_sgemm:/100": the first of each
// 100. Fault::kUsage for what is no routine whose calls are known, with those of a like name.
Result<ExactWish> parse_exact_wish(std::string_view option, std::string_view text);

// The same of a region: what stands behind the last colon says the entry if it begins with a digit
// or '/', else it is part of the name.
Result<ExactWish> parse_exact_region(std::string_view option, std::string_view text);

}  // namespace hwprof::observe
