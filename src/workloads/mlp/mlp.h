// A multilayer perceptron that learns: linear layers with ReLU between them and softmax at the end,
// cross entropy, plain stochastic gradient descent. The network of MXNet's C++ example is the
// default (784-128-64-10, batch 100, learning rate 0.1, weight decay 0.01). Every layer, forward
// and backward, is a region with its FLOP declared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/blas_library.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/model/record.h"
#include "src/workloads/task.h"

namespace hwprof {

struct MlpShape {
  std::vector<std::size_t> widths{784, 128, 64, 10};  // inputs first, classes last
  std::size_t batch = 100;
};

struct Sgd {
  double learning_rate = 0.1, weight_decay = 0.01;
};

// "reference", "simd", and "blas", whose products are the library's and whose rest is simd.
std::span<const std::string_view> mlp_variants();
bool mlp_needs_blas(std::string_view variant);
// The products of a training step that each variant makes.
const std::vector<report::PassVariants>& mlp_passes();

class Mlp {
 public:
  // Weights and biases are uniform in +-1/sqrt(fan-in), as PyTorch initialises them, from `seed`:
  // all variants start alike. `blas` may be null unless the variant needs it. Library and team must
  // outlive the object.
  static Result<Mlp> create(const MlpShape& shape, std::string_view variant,
                            const BlasLibrary* blas, ThreadTeam& team, std::uint64_t seed);
  Mlp(Mlp&&) noexcept;
  Mlp& operator=(Mlp&&) noexcept;
  ~Mlp();

  [[nodiscard]] const MlpShape& shape() const;
  // Where the caller puts a batch: [batch, inputs].
  std::span<float> input();

  // Of the first `images` of the input.
  void forward(std::size_t images);
  // How many of the last forward() have their largest probability at their label.
  [[nodiscard]] std::size_t correct(std::span<const std::uint8_t> labels) const;
  // Gradients of the last forward(), summed over its images; their losses, added up.
  double backward(std::span<const std::uint8_t> labels);
  // By the gradients' mean over the images of the last backward().
  void update(const Sgd& sgd);

  // Weights, then biases, of each layer in turn.
  std::span<float> parameters();
  [[nodiscard]] std::span<const float> gradients() const;

  // The products of a step, on what its buffers hold, with a whole batch. They overwrite what the
  // next backward() would need.
  [[nodiscard]] std::vector<Task> tasks();

 private:
  struct State;
  explicit Mlp(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hwprof
