// Documents for those who have none at hand: lengths like those of rcv1, whose mean is 123.9 words
// in LibMultiLabel's data, so that costs compare with the published ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/workloads/inputs/documents.h"

namespace hwprof {

struct SyntheticOptions {
  std::size_t documents = 64;
  std::optional<std::size_t> n = {};  // all of this length; absent: lengths as described below
  std::uint64_t seed = 0;
};

// The mean is that of rcv1; the form is an assumption: log-normal (sigma 0.6 of the logarithm),
// clipped to [1, 500]. One length is drawn from each of `documents` equally probable parts of the
// distribution, then single words are added or taken until the sum is round(123.9 * documents):
// 64 plain draws would miss the mean by 8 % as a rule. The order is shuffled. Words are uniform
// over a vocabulary as large as rcv1's (47,236 words). Same on every platform for the same seed.
DocumentSet synthetic_documents(const SyntheticOptions& options);

}  // namespace hwprof
