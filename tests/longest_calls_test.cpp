#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/documents/content.h"

namespace hwprof::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TraceSpan call(double start_ns, double duration_ns) {
  return {.name = "sgemm_ 2x2x2", .thread = "7", .start_ns = start_ns, .duration_ns = duration_ns};
}

TEST(LongestCalls, ComeFirstWithTheirLineAndRegion) {
  BlasEvidence evidence;
  evidence.called.spans = {call(0, 3e4), call(2e6, 5e4)};
  evidence.called.spans[1].region = "train/forward";
  evidence.called.spans[1].line = {"/home/ada/train.py", 12, "forward"};
  evidence.called.lines_reason = "the program was not run with --lines";
  const Table table = longest_calls_table(evidence);
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("sgemm_ 2x2x2", "2.00 ms", "50.0 µs", "7",
                                               "train/forward", "train.py:12 forward"));
  EXPECT_EQ(table.rows[0].of, "/blas/evidence/called/spans/1");
  EXPECT_THAT(table.rows[1].cells,
              ElementsAre("sgemm_ 2x2x2", "0.00 ns", "30.0 µs", "7", "-", "-"));
  EXPECT_THAT(table.notes, Contains("no line of Python: the program was not run with --lines"));
  EXPECT_THAT(table.notes, Not(Contains(HasSubstr("--trace"))));
}

TEST(LongestCalls, AreFewAndSayOfHowMany) {
  BlasEvidence evidence;
  for (int i = 0; i < 1000; ++i) evidence.called.spans.push_back(call(i, 1000 + i % 500));
  const Table table = longest_calls_table(evidence);
  ASSERT_THAT(table.rows, SizeIs(12));
  // Of two that took as long the earlier one is first.
  EXPECT_EQ(table.rows[0].of, "/blas/evidence/called/spans/499");
  EXPECT_EQ(table.rows[1].of, "/blas/evidence/called/spans/999");
  EXPECT_THAT(table.notes, Contains(HasSubstr("12 of 1000 calls")));
}

TEST(LongestCalls, AreNoTableWithoutCalls) {
  const Table table = longest_calls_table({});
  EXPECT_THAT(table.rows, SizeIs(0));
  EXPECT_THAT(table.notes, SizeIs(0));
}

}  // namespace
}  // namespace hwprof::report
