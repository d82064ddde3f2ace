#include "src/workloads/networks/text_cnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "kernels/check/check.h"
#include "kernels/registry.h"
#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

// Multiply-adds that the double-precision check may cost for one filter size: about 0.2 s.
constexpr double kCheckMultiplyAdds = 150e6;

// What all variants of the layers of one filter size share.
struct Branch {
  Conv1dShape shape;
  FloatBuffer w, bias, h;
  std::vector<std::size_t> position_start;  // documents + 1
  std::vector<Expected> expected;           // of the convolution, a sampled document each
};

std::vector<std::size_t> sample_documents(const Batch& batch, double multiply_adds_per_row) {
  std::vector<std::size_t> by_length(batch.documents());
  for (std::size_t b = 0; b < by_length.size(); ++b) by_length[b] = b;
  const auto rows = [&batch](std::size_t b) { return batch.row_start[b + 1] - batch.row_start[b]; };
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&rows](std::size_t a, std::size_t b) { return rows(a) < rows(b); });
  const double all = multiply_adds_per_row * static_cast<double>(batch.rows());
  const double share = std::min(1.0, kCheckMultiplyAdds / std::max(all, 1.0));
  const std::size_t count = std::clamp<std::size_t>(
      static_cast<std::size_t>(share * static_cast<double>(by_length.size())),
      std::min<std::size_t>(2, by_length.size()), by_length.size());
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < count; ++i) {
    sample.push_back(by_length[count == 1 ? 0 : i * (by_length.size() - 1) / (count - 1)]);
  }
  return sample;
}

Result<FloatBuffer> uniform(std::size_t count, std::size_t fan_in, SplitMix64& random) {
  Result<FloatBuffer> buffer = FloatBuffer::zeros(count);
  if (!buffer) return buffer;
  const float bound = 1.0f / std::sqrt(static_cast<float>(fan_in));
  for (float& value : buffer->span()) value = random.symmetric(bound);
  return buffer;
}

bool wanted(const std::vector<std::string>& only, std::string_view name) {
  return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

}  // namespace

struct TextCnn::State {
  const Batch& batch;
  const BlasLibrary* blas;
  ThreadTeam& team;
  TextCnnShape shape;
  std::deque<Branch> branches{};  // tasks point into them
  std::deque<FloatBuffer> packed{};
  FloatBuffer scratch{};  // one variant runs at a time
  FloatBuffer g{}, a{}, c{}, z{};
  std::vector<std::size_t> sample{};
  std::vector<Task> tasks{};

  [[nodiscard]] std::size_t linear_inputs() const { return shape.filter_sizes.size() * shape.d_c; }

  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> conv1d_shape(
      const Branch& branch) const {
    return {{"k", branch.shape.k},     {"d_e", branch.shape.d_e},
            {"d_c", branch.shape.d_c}, {"batch", batch.documents()},
            {"rows", batch.rows()},    {"positions", branch.position_start.back()}};
  }

  [[nodiscard]] Conv1dInput conv1d_input(const Branch& branch, const float* weights) const {
    return {.shape = branch.shape,
            .row_start = batch.row_start,
            .x = batch.x.data(),
            .w = branch.w.data(),
            .packed = weights,
            .bias = branch.bias.data(),
            .team = &team};
  }

  Conv1dCall conv1d_call(Branch& branch, const float* weights) {
    return {.input = conv1d_input(branch, weights),
            .h = branch.h.data(),
            .scratch = scratch.data(),
            .blas = blas};
  }

  Conv1dMaxpoolCall conv1d_maxpool_call(const Branch& branch, std::size_t index,
                                        const float* weights) {
    return {.input = conv1d_input(branch, weights),
            .g = g.data() + index * shape.d_c,
            .g_stride = linear_inputs()};
  }

  MaxpoolCall maxpool_call(Branch& branch, std::size_t index) {
    return {.d_c = shape.d_c,
            .start = branch.position_start,
            .h = branch.h.data(),
            .g = g.data() + index * shape.d_c,
            .g_stride = linear_inputs(),
            .team = &team};
  }

  LinearCall linear_call() {
    return {.shape = {linear_inputs(), shape.l},
            .documents = batch.documents(),
            .g = g.data(),
            .a = a.data(),
            .c = c.data(),
            .z = z.data(),
            .blas = blas,
            .team = &team};
  }

  Result<void> allocate(std::uint64_t seed);
  Result<void> fill_activations();
  template <class V, class S>
  Result<const float*> pack(const V& variant, const S& layer, const float* weights);
  Result<void> add_conv1d(const std::vector<std::string>& only, const std::string& no_blas);
  Result<void> add_conv1d_maxpool(const std::vector<std::string>& only);
  void add_maxpool(const std::vector<std::string>& only);
  Result<void> add_linear(const std::vector<std::string>& only, const std::string& no_blas);
  double check_conv1d(Branch& branch);
};

Result<void> TextCnn::State::allocate(std::uint64_t seed) {
  SplitMix64 random(seed);
  const std::size_t documents = batch.documents();
  for (const std::size_t k : shape.filter_sizes) {
    Branch& branch = branches.emplace_back();
    branch.shape = {k, batch.d_e, shape.d_c};
    for (std::size_t b = 0; b <= documents; ++b) {
      branch.position_start.push_back(batch.row_start[b] - b * (k - 1));
    }
    const std::size_t fan_in = k * batch.d_e;
    Result<FloatBuffer> w = uniform(shape.d_c * fan_in, fan_in, random);
    if (!w) return error_of(w);
    Result<FloatBuffer> bias = uniform(shape.d_c, fan_in, random);
    if (!bias) return error_of(bias);
    Result<FloatBuffer> h = FloatBuffer::zeros(branch.position_start.back() * shape.d_c);
    if (!h) return error_of(h);
    branch.w = std::move(*w);
    branch.bias = std::move(*bias);
    branch.h = std::move(*h);
  }
  const std::size_t inputs = linear_inputs();
  for (auto& [buffer, count, fan_in] :
       {std::tuple{&g, documents * inputs, std::size_t{0}},
        std::tuple{&z, documents * shape.l, std::size_t{0}},
        std::tuple{&a, shape.l * inputs, inputs}, std::tuple{&c, shape.l, inputs}}) {
    Result<FloatBuffer> made =
        fan_in == 0 ? FloatBuffer::zeros(count) : uniform(count, fan_in, random);
    if (!made) return error_of(made);
    *buffer = std::move(*made);
  }
  double multiply_adds_per_row = 0;
  for (const Branch& branch : branches) {
    multiply_adds_per_row = std::max(multiply_adds_per_row,
                                     static_cast<double>(branch.shape.k * batch.d_e * shape.d_c));
  }
  sample = sample_documents(batch, multiply_adds_per_row);
  return {};
}

template <class V, class S>
Result<const float*> TextCnn::State::pack(const V& variant, const S& layer, const float* weights) {
  if (variant.pack == nullptr) return nullptr;
  Result<FloatBuffer> buffer = FloatBuffer::zeros(variant.packed_floats(layer));
  if (!buffer) return error_of(buffer);
  variant.pack(layer, weights, buffer->data());
  packed.push_back(std::move(*buffer));
  return packed.back().data();
}

// Pooling and linear layer are measured on what the layer before them really gives, whichever
// variants the user asked for.
Result<void> TextCnn::State::fill_activations() {
  for (std::size_t index = 0; index < branches.size(); ++index) {
    Branch& branch = branches[index];
    Result<FloatBuffer> weights = FloatBuffer::zeros(conv1d_simd_packed_floats(branch.shape));
    if (!weights) return error_of(weights);
    conv1d_simd_pack(branch.shape, branch.w.data(), weights->data());
    conv1d_simd(conv1d_call(branch, weights->data()));
    maxpool_simd(maxpool_call(branch, index));
  }
  return {};
}

double TextCnn::State::check_conv1d(Branch& branch) {
  const Conv1dCall call = conv1d_call(branch, nullptr);
  if (branch.expected.empty()) {
    for (const std::size_t b : sample) branch.expected.push_back(conv1d_expected(call.input, b));
  }
  double error = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    error = std::max(error, max_relative_error(branch.expected[i], call.output(sample[i])));
  }
  return error;
}

Result<void> TextCnn::State::add_conv1d(const std::vector<std::string>& only,
                                        const std::string& no_blas) {
  std::size_t longest = 0, scratch_floats = 0;
  for (std::size_t b = 0; b < batch.documents(); ++b) {
    longest = std::max(longest, batch.row_start[b + 1] - batch.row_start[b]);
  }
  for (Branch& branch : branches) {
    for (const Conv1dVariant& variant : conv1d_variants()) {
      if (wanted(only, variant.name) && variant.scratch_floats != nullptr) {
        scratch_floats = std::max(scratch_floats, variant.scratch_floats(branch.shape, longest));
      }
    }
  }
  Result<FloatBuffer> memory = FloatBuffer::zeros(scratch_floats);
  if (!memory) return error_of(memory);
  scratch = std::move(*memory);

  for (Branch& branch : branches) {
    const auto [k, d_e, d_c] = branch.shape;
    const std::size_t positions = branch.position_start.back();
    for (const Conv1dVariant& variant : conv1d_variants()) {
      if (!wanted(only, variant.name)) continue;
      Task& task = tasks.emplace_back();
      task.op = "conv1d";
      task.variant = variant.name;
      task.shape = conv1d_shape(branch);
      task.cost = conv1d_cost(k, d_e, d_c, batch.rows(), positions);
      task.optimised = variant.name != kReferenceName;
      task.needs_blas = variant.needs_blas;
      if (variant.needs_blas && blas == nullptr) {
        task.reason = no_blas;
        continue;
      }
      const Result<const float*> weights = pack(variant, branch.shape, branch.w.data());
      if (!weights) return error_of(weights);
      task.run = [call = conv1d_call(branch, *weights), run = variant.run] { run(call); };
      task.check = [this, &branch] { return check_conv1d(branch); };
    }
  }
  return {};
}

Result<void> TextCnn::State::add_conv1d_maxpool(const std::vector<std::string>& only) {
  for (std::size_t index = 0; index < branches.size(); ++index) {
    Branch& branch = branches[index];
    const auto [k, d_e, d_c] = branch.shape;
    const std::size_t positions = branch.position_start.back();
    for (const Conv1dMaxpoolVariant& variant : conv1d_maxpool_variants()) {
      // The reference of the fused operation is that of its parts: not measured twice.
      if (variant.name == kReferenceName || !wanted(only, variant.name)) continue;
      const Result<const float*> weights = pack(variant, branch.shape, branch.w.data());
      if (!weights) return error_of(weights);
      const Conv1dMaxpoolCall call = conv1d_maxpool_call(branch, index, *weights);
      Task& task = tasks.emplace_back();
      task.op = "conv1d-maxpool";
      task.variant = variant.name;
      task.shape = conv1d_shape(branch);
      task.cost = conv1d_maxpool_cost(k, d_e, d_c, batch.rows(), positions, batch.documents());
      task.run = [call, run = variant.run] { run(call); };
      task.check = [this, call] {
        double error = 0;
        for (const std::size_t b : sample) {
          error = std::max(
              error, max_relative_error(conv1d_maxpool_expected(call.input, b), call.output(b)));
        }
        return error;
      };
    }
  }
  return {};
}

void TextCnn::State::add_maxpool(const std::vector<std::string>& only) {
  for (std::size_t index = 0; index < branches.size(); ++index) {
    Branch& branch = branches[index];
    const std::size_t positions = branch.position_start.back();
    for (const MaxpoolVariant& variant : maxpool_variants()) {
      if (!wanted(only, variant.name)) continue;
      const MaxpoolCall call = maxpool_call(branch, index);
      Task& task = tasks.emplace_back();
      task.op = "maxpool";
      task.variant = variant.name;
      task.shape = {{"k", branch.shape.k},
                    {"d_c", shape.d_c},
                    {"batch", batch.documents()},
                    {"positions", positions}};
      task.cost = maxpool_cost(shape.d_c, positions, batch.documents());
      task.optimised = variant.name != kReferenceName;
      task.run = [call, run = variant.run] { run(call); };
      task.check = [this, call] {
        double error = 0;
        for (const std::size_t b : sample) {
          error = std::max(error, max_relative_error(maxpool_expected(call, b), call.output(b)));
        }
        return error;
      };
    }
  }
}

Result<void> TextCnn::State::add_linear(const std::vector<std::string>& only,
                                        const std::string& no_blas) {
  const LinearShape layer{linear_inputs(), shape.l};
  for (const LinearVariant& variant : linear_variants()) {
    if (!wanted(only, variant.name)) continue;
    Task& task = tasks.emplace_back();
    task.op = "linear";
    task.variant = variant.name;
    task.shape = {{"inputs", layer.inputs}, {"l", layer.outputs}, {"batch", batch.documents()}};
    const bool one_document = variant.name == "blas-gemv";
    task.cost = linear_cost(layer.inputs, layer.outputs, batch.documents(),
                            one_document ? batch.documents() : 1);
    task.optimised = variant.name != kReferenceName;
    task.needs_blas = variant.needs_blas;
    if (variant.needs_blas && blas == nullptr) {
      task.reason = no_blas;
      continue;
    }
    LinearCall call = linear_call();
    const Result<const float*> weights = pack(variant, layer, call.a);
    if (!weights) return error_of(weights);
    call.packed = *weights;
    task.run = [call, run = variant.run] { run(call); };
    task.check = [this, call] {
      double error = 0;
      for (const std::size_t b : sample) {
        error = std::max(
            error, max_relative_error(linear_expected(call, b), call.z + b * call.shape.outputs));
      }
      return error;
    };
  }
  return {};
}

const std::vector<report::PassVariants>& text_cnn_passes() {
  static const std::vector<report::PassVariants> passes = {
      {"reference", {{"conv1d", "reference"}, {"maxpool", "reference"}, {"linear", "reference"}}},
      {"simd", {{"conv1d", "simd"}, {"maxpool", "simd"}, {"linear", "simd"}}},
      {"fused", {{"conv1d-maxpool", "fused"}, {"linear", "simd"}}},
      {"blas-im2col", {{"conv1d", "blas-im2col"}, {"maxpool", "simd"}, {"linear", "blas-gemm"}}},
      {"blas-shifted", {{"conv1d", "blas-shifted"}, {"maxpool", "simd"}, {"linear", "blas-gemv"}}},
  };
  return passes;
}

TextCnn::TextCnn(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextCnn::TextCnn(TextCnn&&) noexcept = default;
TextCnn& TextCnn::operator=(TextCnn&&) noexcept = default;
TextCnn::~TextCnn() = default;

const std::vector<Task>& TextCnn::tasks() const { return state_->tasks; }
std::size_t TextCnn::checked_documents() const { return state_->sample.size(); }

Result<TextCnn> TextCnn::create(const Batch& batch, const TextCnnShape& shape,
                                const BlasLibrary* blas, const std::string& no_blas_reason,
                                ThreadTeam& team, const std::vector<std::string>& only,
                                std::uint64_t seed) {
  auto state =
      std::unique_ptr<State>(new State{.batch = batch, .blas = blas, .team = team, .shape = shape});
  if (auto done = state->allocate(seed); !done) return error_of(done);
  if (auto done = state->fill_activations(); !done) return error_of(done);
  if (auto done = state->add_conv1d(only, no_blas_reason); !done) {
    return error_of(done);
  }
  state->add_maxpool(only);
  if (auto done = state->add_conv1d_maxpool(only); !done) return error_of(done);
  if (auto done = state->add_linear(only, no_blas_reason); !done) {
    return error_of(done);
  }
  return TextCnn(std::move(state));
}

}  // namespace hwprof
