// Which thread works on which documents and filters: everything once, in shares that end together.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/ops/conv1d.h"
#include "kernels/thread_team.h"
#include "src/workloads/inputs/documents.h"

namespace hwprof {
namespace {

// The parts of 100 filters where a vector has 16 lanes: three pairs of vectors, four dot products.
const std::vector<std::size_t> kHundredFilters = {0, 32, 64, 96, 100};

struct Split {
  std::vector<std::vector<int>> visits;  // [document][part]
  std::vector<std::size_t> work;         // of each thread: positions x cost
};

Split split(const Conv1dInput& input, const std::vector<std::size_t>& cost_before,
            std::size_t threads) {
  const std::size_t parts = cost_before.size() - 1;
  Split result{.visits = std::vector(input.documents(), std::vector<int>(parts)),
               .work = std::vector<std::size_t>(threads)};
  for (std::size_t thread = 0; thread < threads; ++thread) {
    for_each_share(
        input, parts, [&](std::size_t part) { return cost_before[part]; }, thread, threads,
        [&](std::size_t b, std::size_t first, std::size_t last) {
          for (std::size_t part = first; part < last; ++part) ++result.visits[b][part];
          result.work[thread] += input.positions(b) * (cost_before[last] - cost_before[first]);
        });
  }
  return result;
}

std::vector<std::size_t> equal_parts(std::size_t columns, std::size_t width) {
  std::vector<std::size_t> before;
  for (std::size_t column = 0; column <= columns; column += width) before.push_back(column);
  return before;
}

double largest_to_mean(const std::vector<std::size_t>& work) {
  const auto all = static_cast<double>(std::accumulate(work.begin(), work.end(), std::size_t{0}));
  return static_cast<double>(*std::max_element(work.begin(), work.end())) *
         static_cast<double>(work.size()) / all;
}

TEST(DocumentSplit, TakesEveryPartOfEveryDocumentOnceAndNoThreadMuchMoreThanItsShare) {
  for (const std::size_t documents : {1, 2, 7, 60}) {
    std::vector<std::size_t> row_start{5};  // the batch may begin anywhere
    for (std::size_t b = 0; b < documents; ++b) {
      row_start.push_back(row_start.back() + 3 + (b * 37) % 53);
    }
    const Conv1dInput input{.shape = {3, 1, 100}, .row_start = row_start};
    for (const std::size_t threads : {1, 2, 3, 5, 16}) {
      const Split shares = split(input, kHundredFilters, threads);
      for (const std::vector<int>& parts : shares.visits) {
        EXPECT_EQ(parts, std::vector<int>(4, 1)) << documents << " for " << threads;
      }
      const std::size_t all = std::accumulate(shares.work.begin(), shares.work.end(), 0UL);
      constexpr std::size_t kLargestUnit = 53 * 32;
      EXPECT_LE(*std::max_element(shares.work.begin(), shares.work.end()),
                all / threads + 1 + kLargestUnit);
    }
  }
}

TEST(DocumentSplit, OneDocumentIsSplitOverItsFilters) {
  const std::vector<std::size_t> row_start = {0, 124};
  const Conv1dInput input{.shape = {2, 300, 128}, .row_start = row_start};
  EXPECT_EQ(split(input, equal_parts(128, 32), 2).work, (std::vector<std::size_t>(2, 123 * 64)));
}

// By what the parts cost, not by their number: 4 filters are less than 32.
TEST(DocumentSplit, PartsCountByTheirColumns) {
  const std::vector<std::size_t> row_start = {0, 10};
  const Conv1dInput input{.shape = {1, 1, 36}, .row_start = row_start};
  EXPECT_EQ(split(input, {0, 4, 8, 12, 16, 32}, 2).work,
            (std::vector<std::size_t>{10 * 16, 10 * 16}));
}

// What hwprof measures unless told otherwise. Documents of 27 to 485 words: shares of 32 documents
// each would be far from equal.
TEST(DocumentSplit, TwoThreadsShareTheDefaultBatchWithinFivePercent) {
  const DocumentSet documents = synthetic_documents({.documents = 64});
  for (const std::size_t k : {2, 4, 8}) {
    const Conv1dInput input{.shape = {k, 300, 128}, .row_start = documents.start};
    ASSERT_EQ(input.documents(), 64U);
    for (const std::size_t panel : {8, 16, 32}) {  // Neon and SSE, AVX2, AVX-512
      EXPECT_LE(largest_to_mean(split(input, equal_parts(128, panel), 2).work), 1.05)
          << "k=" << k << ", panels of " << panel;
    }
    const double whole_documents = largest_to_mean(split(input, {0, 1}, 2).work);
    EXPECT_LE(whole_documents, 1.05) << "max pooling and reference, k=" << k;
  }
}

}  // namespace
}  // namespace hwprof
