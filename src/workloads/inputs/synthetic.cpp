#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/workloads/inputs/documents.h"
#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

constexpr std::uint32_t kVocabularyWords = 47236;
constexpr std::uint64_t kMeanTenths = 1239;

// Length at probability i/64 of the log-normal distribution with mean 123.9 and sigma 0.6:
// exp(ln 123.9 - 0.18 + 0.6 z). A table, since exp and the inverse of the normal distribution
// differ between C libraries. The ends stand for 1/1024 and for the clip at 500.
constexpr std::array<std::uint32_t, 65> kQuantiles = {
    16,  28,  34,  38,  41,  44,  47,  49,  52,  54,  56,  59,  61,  63,  65,  67,  69,
    71,  73,  75,  77,  79,  81,  83,  85,  88,  90,  92,  94,  96,  99,  101, 103, 106,
    108, 111, 114, 116, 119, 122, 125, 128, 132, 135, 139, 143, 146, 151, 155, 160, 165,
    170, 176, 183, 190, 198, 206, 216, 228, 242, 260, 283, 316, 377, 500};

// `position` runs over [0, 2^32): linear between the entries of the table.
std::size_t quantile(std::uint64_t position) {
  constexpr unsigned kFraction = 26;  // 2^32 / 64
  const std::size_t i = position >> kFraction;
  const std::uint64_t fraction = position & ((std::uint64_t{1} << kFraction) - 1);
  return kQuantiles[i] + (((kQuantiles[i + 1] - kQuantiles[i]) * fraction) >> kFraction);
}

std::vector<std::size_t> draw_lengths(std::size_t documents, SplitMix64& random) {
  std::vector<std::size_t> lengths(documents);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < documents; ++i) {
    const std::uint64_t part = (std::uint64_t{1} << 32) / documents;
    lengths[i] = quantile(part * i + random.below(static_cast<std::uint32_t>(
                                         std::min<std::uint64_t>(part, 0xffffffffU))));
    sum += lengths[i];
  }
  const std::uint64_t wanted = (documents * kMeanTenths + 5) / 10;
  for (std::size_t i = 0; sum != wanted; i = (i + 1) % documents) {
    if (sum < wanted && lengths[i] < DocumentSet::kMaxWords) {
      ++lengths[i];
      ++sum;
    } else if (sum > wanted && lengths[i] > 1) {
      --lengths[i];
      --sum;
    }
  }
  shuffle(lengths, random);
  return lengths;
}

}  // namespace

DocumentSet synthetic_documents(const SyntheticOptions& options) {
  SplitMix64 random(options.seed);
  const std::vector<std::size_t> lengths =
      options.n ? std::vector<std::size_t>(options.documents, *options.n)
                : draw_lengths(options.documents, random);
  DocumentSet set;
  for (const std::size_t length : lengths) {
    for (std::size_t i = 0; i < length; ++i) {
      set.words.push_back(
          set.vocabulary.intern(fmt::format("word{}", random.below(kVocabularyWords))));
    }
    set.start.push_back(set.words.size());
  }
  set.source = options.n ? fmt::format("synthetic, {} words each", *options.n)
                         : fmt::format("synthetic, seed {}, mean length as on rcv1", options.seed);
  return set;
}

}  // namespace hwprof
