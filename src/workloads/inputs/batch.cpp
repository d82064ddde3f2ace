#include "src/workloads/inputs/batch.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hwprof {
namespace {

std::size_t largest_filter(const BatchShape& shape) {
  return *std::max_element(shape.filter_sizes.begin(), shape.filter_sizes.end());
}

// Words of documents [first, first + count), cut where the shape says so.
std::vector<std::size_t> own_lengths(const DocumentSet& documents, const BatchShape& shape,
                                     std::size_t first, std::size_t count) {
  std::vector<std::size_t> lengths(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = documents.length(first + i);
    lengths[i] = shape.n ? std::min(length, *shape.n) : length;
  }
  return lengths;
}

// Rows that each document takes.
std::vector<std::size_t> padded_lengths(const std::vector<std::size_t>& own,
                                        const BatchShape& shape, Padding padding) {
  const std::size_t least = std::max(largest_filter(shape), shape.n.value_or(0));
  std::size_t longest = least;
  for (const std::size_t length : own) longest = std::max(longest, length);
  std::vector<std::size_t> rows(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    rows[i] = padding == Padding::kBatch ? longest : std::max(own[i], least);
  }
  return rows;
}

// Convolution positions of documents with these lengths.
double positions(const std::vector<std::size_t>& lengths, const BatchShape& shape) {
  double sum = 0;
  for (const std::size_t k : shape.filter_sizes) {
    for (const std::size_t length : lengths) {
      sum += static_cast<double>(std::max(length, k) - k + 1);
    }
  }
  return sum;
}

std::size_t batch_size(const DocumentSet& documents, const BatchShape& shape) {
  return std::min(shape.batch, documents.size());
}

}  // namespace

std::span<const WordId> words_of_batch(const DocumentSet& documents, const BatchShape& shape) {
  return std::span(documents.words).first(documents.start[batch_size(documents, shape)]);
}

Result<Batch> build_batch(const DocumentSet& documents, const BatchShape& shape,
                          const Embedding& embedding) {
  Batch batch;
  batch.d_e = embedding.d_e;
  batch.own_length = own_lengths(documents, shape, 0, batch_size(documents, shape));
  batch.short_documents = static_cast<std::uint64_t>(
      std::count_if(batch.own_length.begin(), batch.own_length.end(),
                    [k = largest_filter(shape)](std::size_t length) { return length < k; }));
  batch.row_start.push_back(0);
  for (const std::size_t rows : padded_lengths(batch.own_length, shape, shape.padding)) {
    batch.row_start.push_back(batch.row_start.back() + rows);
  }
  // A product that wraps would be a small buffer: the largest value asks for too much instead.
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const bool wraps = batch.d_e != 0 && batch.rows() > kMost / batch.d_e;
  auto x = FloatBuffer::zeros(wraps ? kMost : batch.rows() * batch.d_e);
  if (!x) return error_of(x);
  batch.x = std::move(*x);

  for (std::size_t i = 0; i < batch.documents(); ++i) {
    float* to = batch.x.data() + batch.row_start[i] * batch.d_e;
    for (const WordId id : documents.document(i).first(batch.own_length[i])) {
      std::memcpy(to, embedding.vector(id), batch.d_e * sizeof(float));
      to += batch.d_e;
    }
  }
  return batch;
}

PaddingCost padding_cost(const DocumentSet& documents, const BatchShape& shape) {
  PaddingCost cost;
  const auto own = own_lengths(documents, shape, 0, batch_size(documents, shape));
  const double needed = positions(own, shape);
  cost.as_laid_out = positions(padded_lengths(own, shape, shape.padding), shape) / needed;
  cost.to_longest = positions(padded_lengths(own, shape, Padding::kBatch), shape) / needed;

  double file_needed = 0;
  double file_padded = 0;
  for (std::size_t first = 0; first < documents.size(); first += shape.batch) {
    const auto lengths =
        own_lengths(documents, shape, first, std::min(shape.batch, documents.size() - first));
    file_needed += positions(lengths, shape);
    file_padded += positions(padded_lengths(lengths, shape, Padding::kBatch), shape);
  }
  cost.whole_file = file_padded / file_needed;
  return cost;
}

}  // namespace hwprof
