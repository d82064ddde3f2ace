#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "src/report/render/writers.h"
#include "tests/sample_profile.h"

namespace hwprof::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::size_t cells_in(const std::string& line) {
  std::size_t bars = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
  }
  return bars;
}

// Every line of a table has as many cells as its header, else GitHub drops or shifts them.
void expect_whole_tables(const std::string& text) {
  std::istringstream in(text);
  std::size_t expected = 0, tables = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != '|') {
      expected = 0;
      continue;
    }
    if (expected == 0) {
      expected = cells_in(line);
      ++tables;
    }
    EXPECT_EQ(cells_in(line), expected) << line;
  }
  EXPECT_EQ(tables, 5u);
}

TEST(Markdown, TablesAreWhole) { expect_whole_tables(profile_markdown(sample_profile())); }

TEST(Markdown, BarsAndMarkupInNamesAreText) {
  Profile profile = sample_profile();
  profile.rows[0].variant = "a|b\\|`c` <script> [x](y)";
  const std::string text = profile_markdown(profile);
  expect_whole_tables(text);
  EXPECT_THAT(text, HasSubstr("a\\|b\\\\\\|\\`c\\` \\<script\\> \\[x\\](y)"));
}

TEST(Markdown, SaysWhatTheTextReportSays) {
  const std::string text = profile_markdown(sample_profile());
  EXPECT_THAT(text, StartsWith("**BLAS SUBOPTIMAL: 1.90 times faster is possible."));
  for (const char* part :
       {"| blas-shifted | 10.62 ±0.06 ms | 10.5 ms | 114 | 43.1 ±0.4 | compute | 95.3 | 2.4e-07 |",
        "| FLOP/byte |", "| 48.8 M (61.7 %) |", "| SkylakeX | 237 | 89.6 | avx512 |",
        "| maxpool | 1.01 M | 0.166 | 2.85 | 1.86 |", "llc-miss: unsupported; Zen has no generic",
        "L1 502/391/434 in 24 KiB", "3.87 times", "- **Fix**: unset OPENBLAS\\_CORETYPE"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Markdown, PartialIsMarked) {
  Profile profile = sample_profile();
  profile.partial = true;
  EXPECT_THAT(profile_markdown(profile), HasSubstr("**PARTIAL"));
}

}  // namespace
}  // namespace hwprof::report
