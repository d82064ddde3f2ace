// A vector for each word that is used: from a file in GloVe's text format, where there is one,
// else drawn from a hash of the word, so that a profile needs no download of 1 GB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/tensor.h"
#include "src/base/result.h"
#include "src/workloads/inputs/documents.h"

namespace hwprof {

struct Embedding {
  std::size_t d_e = 0;
  FloatBuffer vectors;             // [found + hashed, d_e] row-major
  std::vector<std::uint32_t> row;  // by word id; kUnused for a word that no document has
  std::uint64_t found = 0;         // distinct words that the file has
  std::uint64_t hashed = 0;        // distinct words with a vector from their hash
  std::string source;              // for the report

  static constexpr std::uint32_t kUnused = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] const float* vector(WordId id) const { return vectors.data() + row[id] * d_e; }
};

// Standard deviation of a component of a hashed vector, about that of glove.6B.300d.
constexpr float kHashedDeviation = 0.4F;

// The vectors of the words in `used`, each d_e long, by hash alone: components independent and
// nearly normal around 0 (SplitMix64::bell), the same on every platform and in every run.
Result<Embedding> hash_embedding(const Vocabulary& vocabulary, std::span<const WordId> used,
                                 std::size_t d_e);

// Streams `path`: `word v1 ... vd` a line, separated by single spaces. The first line sets d, which
// must be `d_e` where the user gave one. A line with more fields has a word with spaces in it
// (". . ." in glove.840B): the last d are the vector. Of two lines for one word the last counts,
// as in LibMultiLabel. Words that the file lacks are hashed. Only the numbers of used words are
// parsed; the others' are counted. Fault::kUsage names the line of a row of another length, or of
// what is not a finite number.
Result<Embedding> read_embedding(const std::string& path, const Vocabulary& vocabulary,
                                 std::span<const WordId> used, std::optional<std::size_t> d_e);

}  // namespace hwprof
