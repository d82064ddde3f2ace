// Documents as the kernels take them: one matrix of word vectors, and what padding them costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/tensor.h"
#include "src/base/result.h"
#include "src/model/record.h"
#include "src/workloads/inputs/documents.h"
#include "src/workloads/inputs/embedding.h"

namespace hwprof {

struct BatchShape {
  std::vector<std::size_t> filter_sizes;  // words; a shorter document is padded to the largest
  std::size_t batch = 64;                 // documents
  Padding padding = Padding::kOwn;
  std::optional<std::size_t> n =
      {};  // every document cut or padded to n words, whatever `padding` says
};

struct Batch {
  std::vector<std::size_t> row_start;  // document i: rows [row_start[i], row_start[i + 1]) of x
  std::size_t d_e = 0;
  FloatBuffer x;                        // [rows, d_e] row-major; padding rows are zero
  std::vector<std::size_t> own_length;  // words without padding
  std::uint64_t short_documents = 0;    // shorter than the largest filter

  [[nodiscard]] std::size_t documents() const { return own_length.size(); }
  [[nodiscard]] std::size_t rows() const { return row_start.back(); }
};

// The first `shape.batch` documents, or all when there are fewer. Words of them need a vector:
// words_of_batch() names those.
Result<Batch> build_batch(const DocumentSet& documents, const BatchShape& shape,
                          const Embedding& embedding);
std::span<const WordId> words_of_batch(const DocumentSet& documents, const BatchShape& shape);

// Convolution positions (rows - k + 1, summed over documents and filter sizes), over those that
// documents of own length have; a document shorter than k counts as one of k words.
struct PaddingCost {
  double as_laid_out = 1;  // this batch as build_batch() lays it out
  double to_longest = 1;   // this batch padded to its longest document
  double whole_file = 1;   // all documents in batches of this size, each padded to its longest
};

PaddingCost padding_cost(const DocumentSet& documents, const BatchShape& shape);

}  // namespace hwprof
