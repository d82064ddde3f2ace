#include "src/workloads/networks/text_cnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "kernels/registry.h"
#include "src/workloads/inputs/random.h"
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

// The layers of one filter size.
struct Branch {
  std::size_t k = 0;
  LayerMemory memory;         // of the convolution, apart and fused
  std::span<const float> h;   // its result: what the pooling reads
  std::span<float> g;         // from its first column of the linear layer's input on
  std::size_t positions = 0;  // of all documents
};

bool wanted(const std::vector<std::string>& only, std::string_view name) {
  return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

}  // namespace

struct TextCnn::State {
  const Batch& batch;
  const BlasLibrary* blas;
  const std::string& no_blas_reason;
  ThreadTeam& team;
  TextCnnShape shape;
  std::uint64_t seed;
  std::size_t longest = 0;  // rows of a document
  std::deque<Branch> branches{};
  LayerMemory linear{};
  FloatBuffer g{};
  std::vector<Operation> operations{};  // tasks point into them
  std::vector<Task> tasks{};
  std::size_t checked_documents = 0;

  [[nodiscard]] std::size_t linear_inputs() const { return shape.filter_sizes.size() * shape.d_c; }

  // Of one filter size.
  [[nodiscard]] Sizes sizes_of(const std::string& op, const Branch& branch) const {
    Sizes sizes = {
        {"k", branch.k}, {"d_c", shape.d_c}, {"n", longest}, {"batch", batch.documents()}};
    if (op != "maxpool") sizes.emplace_back("d_e", batch.d_e);
    return sizes;
  }

  [[nodiscard]] Sizes shown_sizes(const std::string& op, const Branch& branch) const {
    if (op == "maxpool") {
      return {{"k", branch.k},
              {"d_c", shape.d_c},
              {"batch", batch.documents()},
              {"positions", branch.positions}};
    }
    return {{"k", branch.k},        {"d_e", batch.d_e},
            {"d_c", shape.d_c},     {"batch", batch.documents()},
            {"rows", batch.rows()}, {"positions", branch.positions}};
  }

  Result<Operation> layer_of(Branch& branch, const std::string& op, std::string_view variant) {
    const std::span<const float> x = batch.x.span();
    const bool pools = op != "conv1d";
    return Operation::create({.op = op,
                              .variant = std::string(variant),
                              .sizes = sizes_of(op, branch),
                              .seed = seed ^ hash_text(fmt::format("conv{}", branch.k))},
                             {op == "maxpool" ? &branch.h : &x, 1}, blas, no_blas_reason, team,
                             {.row_start = batch.row_start,
                              .into = pools ? branch.g : std::span<float>(),
                              .stride = pools ? linear_inputs() : 0,
                              .memory = &branch.memory});
  }

  Result<void> prepare();
  Result<void> add(Result<Operation> operation, Sizes shown);
  Result<void> add_branches(const std::string& op, const std::vector<std::string>& only);
  Result<void> add_linear(const std::vector<std::string>& only);
};

// Pooling and linear layer are measured on what the layer before them really gives, whichever
// variants the user asked for.
Result<void> TextCnn::State::prepare() {
  for (std::size_t b = 0; b < batch.documents(); ++b) {
    longest = std::max(longest, batch.row_start[b + 1] - batch.row_start[b]);
  }
  Result<FloatBuffer> made = FloatBuffer::zeros(batch.documents() * linear_inputs());
  if (!made) return error_of(made);
  g = std::move(*made);
  std::size_t largest_k = 0;
  for (const std::size_t k : shape.filter_sizes) {
    Branch& branch = branches.emplace_back();
    branch.k = k;
    branch.g = g.span().subspan((branches.size() - 1) * shape.d_c);
    branch.positions = batch.rows() - batch.documents() * (k - 1);
    const Result<Operation> conv1d = layer_of(branch, "conv1d", "simd");
    if (!conv1d) return error_of(conv1d);
    conv1d->task().run();
    branch.h = conv1d->output();
    const Result<Operation> maxpool = layer_of(branch, "maxpool", "simd");
    if (!maxpool) return error_of(maxpool);
    maxpool->task().run();
    largest_k = std::max(largest_k, k);
  }
  std::set<std::size_t> checked;
  for (const CheckBlock& block :
       document_blocks(batch.row_start, shape.d_c, static_cast<double>(largest_k * batch.d_e))) {
    checked.insert(block.item);
  }
  checked_documents = checked.size();
  return {};
}

Result<void> TextCnn::State::add(Result<Operation> operation, Sizes shown) {
  if (!operation) return error_of(operation);
  tasks.push_back(operation->task());
  tasks.back().shape = std::move(shown);
  operations.push_back(*std::move(operation));
  return {};
}

Result<void> TextCnn::State::add_branches(const std::string& op,
                                          const std::vector<std::string>& only) {
  for (Branch& branch : branches) {
    for (const std::string_view variant : find_operation(op)->variants()) {
      // The reference of the fused operation is that of its parts: not measured twice.
      if (op == "conv1d-maxpool" && variant == kReferenceName) continue;
      if (!wanted(only, variant)) continue;
      if (auto done = add(layer_of(branch, op, variant), shown_sizes(op, branch)); !done) {
        return done;
      }
    }
  }
  return {};
}

Result<void> TextCnn::State::add_linear(const std::vector<std::string>& only) {
  const std::span<const float> inputs = std::as_const(g).span();
  for (const std::string_view variant : find_operation("linear")->variants()) {
    if (!wanted(only, variant)) continue;
    const OperationSpec spec{
        .op = "linear",
        .variant = std::string(variant),
        .sizes = {{"d_c", linear_inputs()}, {"l", shape.l}, {"batch", batch.documents()}},
        .seed = seed ^ hash_text("linear")};
    auto done =
        add(Operation::create(spec, {&inputs, 1}, blas, no_blas_reason, team, {.memory = &linear}),
            {{"inputs", linear_inputs()}, {"l", shape.l}, {"batch", batch.documents()}});
    if (!done) return done;
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
std::size_t TextCnn::checked_documents() const { return state_->checked_documents; }

Result<TextCnn> TextCnn::create(const Batch& batch, const TextCnnShape& shape,
                                const BlasLibrary* blas, const std::string& no_blas_reason,
                                ThreadTeam& team, const std::vector<std::string>& only,
                                std::uint64_t seed) {
  auto state = std::unique_ptr<State>(new State{.batch = batch,
                                                .blas = blas,
                                                .no_blas_reason = no_blas_reason,
                                                .team = team,
                                                .shape = shape,
                                                .seed = seed});
  if (auto done = state->prepare(); !done) return error_of(done);
  for (const char* op : {"conv1d", "maxpool", "conv1d-maxpool"}) {
    if (auto done = state->add_branches(op, only); !done) return error_of(done);
  }
  if (auto done = state->add_linear(only); !done) return error_of(done);
  return TextCnn(std::move(state));
}

}  // namespace hwprof
