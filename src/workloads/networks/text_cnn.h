// The forward pass of Kim's text CNN (2014) as a list of tasks: each layer with every variant of
// the registry, ready to be timed and checked. conv1d + bias + ReLU and max pooling, apart and
// fused, once for each filter size, then one linear layer over all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/blas_library.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/model/record.h"
#include "src/workloads/inputs/batch.h"
#include "src/workloads/task.h"

namespace hwprof {

struct TextCnnShape {
  std::vector<std::size_t> filter_sizes;  // k, each at least 1 and no longer than any document
  std::size_t d_c = 0;                    // filters of each size
  std::size_t l = 0;                      // labels
};

// The forward passes that the variants make up.
const std::vector<report::PassVariants>& text_cnn_passes();

class TextCnn {
 public:
  // `blas` may be null: its variants then have the reason `no_blas_reason`. `only`: names of the
  // variants to take; empty: all. Weights are uniform in +-1/sqrt(fan-in), as PyTorch initialises
  // them, from `seed`. Batch, library and team must outlive the object.
  static Result<TextCnn> create(const Batch& batch, const TextCnnShape& shape,
                                const BlasLibrary* blas, const std::string& no_blas_reason,
                                ThreadTeam& team, const std::vector<std::string>& only,
                                std::uint64_t seed);
  TextCnn(TextCnn&&) noexcept;
  TextCnn& operator=(TextCnn&&) noexcept;
  ~TextCnn();

  [[nodiscard]] const std::vector<Task>& tasks() const;
  // Documents that check() looks at: the shortest, the longest, and others in between.
  [[nodiscard]] std::size_t checked_documents() const;

 private:
  struct State;
  explicit TextCnn(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hwprof
