#include "src/commands/profile_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/workloads/inputs/synthetic.h"

namespace hwprof {
namespace {

constexpr std::size_t kDefaultEmbedding = 300;  // glove.6B.300d

}  // namespace

Result<Input> load_input(const ProfileOptions& options) {
  Input input;
  const ShapeOptions& shape = options.shape;
  if (options.docs) {
    Result<DocumentSet> documents = read_documents(*options.docs, options.docs_format);
    if (!documents) return error_of(documents);
    input.documents = std::move(*documents);
  } else {
    input.documents =
        synthetic_documents({.documents = shape.batch, .n = shape.n, .seed = options.seed});
  }
  input.shape = {.filter_sizes = shape.filter_sizes,
                 .batch = shape.batch,
                 .padding = options.padding,
                 .n = shape.n};
  const auto words = words_of_batch(input.documents, input.shape);
  Result<Embedding> embedding =
      options.embed ? read_embedding(*options.embed, input.documents.vocabulary, words, shape.d_e)
                    : hash_embedding(input.documents.vocabulary, words,
                                     shape.d_e.value_or(kDefaultEmbedding));
  if (!embedding) return error_of(embedding);
  input.embedding = std::move(*embedding);
  Result<Batch> batch = build_batch(input.documents, input.shape, input.embedding);
  if (!batch) return error_of(batch);
  input.batch = std::move(*batch);
  return input;
}

report::Workload describe(const Input& input, const ProfileOptions& options) {
  const Batch& batch = input.batch;
  const PaddingCost cost = padding_cost(input.documents, input.shape);
  report::Workload workload;
  workload.documents = input.documents.source;
  workload.embedding = input.embedding.source;
  workload.padding = options.padding == Padding::kOwn ? "own" : "batch";
  workload.shape = {{"k", fmt::format("{}", fmt::join(options.shape.filter_sizes, "+"))},
                    {"d_e", std::to_string(batch.d_e)},
                    {"d_c", std::to_string(options.shape.d_c)},
                    {"l", std::to_string(options.shape.l)},
                    {"batch", std::to_string(batch.documents())}};
  if (options.shape.n) workload.shape.emplace_back("n", std::to_string(*options.shape.n));
  workload.documents_used = batch.documents();
  workload.documents_total = input.documents.size();
  workload.short_documents = batch.short_documents;
  std::size_t words = 0;
  for (const std::size_t length : batch.own_length) words += length;
  workload.mean_length = static_cast<double>(words) / static_cast<double>(batch.documents());
  const auto [shortest, longest] =
      std::minmax_element(batch.own_length.begin(), batch.own_length.end());
  workload.min_length = *shortest;
  workload.max_length = *longest;
  workload.padding_factor = cost.as_laid_out;
  workload.batch_padding_factor = cost.to_longest;
  return workload;
}

}  // namespace hwprof
