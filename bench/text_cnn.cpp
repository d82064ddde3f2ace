// The text CNN's layers, everybody who can do them: conv1d + bias + ReLU + max over time, linear.
// Ours, and our ways to use a BLAS, are the operations of the workload, over the same memory.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "bench/case.h"
#include "bench/onednn.h"

namespace hwprof::bench {
namespace {

void add_peer_of(Prepared& prepared, const std::string& name, std::function<void()> call,
                 const Operation& result, const Operation& ours) {
  add_peer(
      prepared, name, std::move(call),
      [&result] { return std::vector<float>(result.output().begin(), result.output().end()); },
      ours.output());
}

struct Conv1dSize {
  std::size_t k, n, d_e, d_c, batch;
};

// One that writes the feature map, followed by our pooling: it costs a BLAS as little as can be.
Result<void> add_unfused(Prepared& prepared, Layer& layer, const std::string& name,
                         const Conv1dSize& size, const std::string& variant,
                         const BlasLibrary* blas) {
  const Operation& ours = layer.operations.front();
  const Result<const Operation*> conv1d =
      layer.add({.op = "conv1d", .variant = variant, .sizes = ours.task().shape}, blas);
  if (!conv1d) return error_of(conv1d);
  const std::span<const float> h = (*conv1d)->output();
  const Result<const Operation*> pooling =
      layer.add({.op = "maxpool",
                 .variant = "simd",
                 .sizes = {{"d_c", size.d_c}, {"n", size.n}, {"k", size.k}, {"batch", size.batch}}},
                nullptr, {&h, 1});
  if (!pooling) return error_of(pooling);
  add_peer_of(
      prepared, name,
      [first = (*conv1d)->task().run, second = (*pooling)->task().run] {
        first();
        second();
      },
      **pooling, ours);
  return {};
}

Result<Prepared> prepare_conv1d(const Conv1dSize& size, bool with_peers, Peers& peers) {
  const auto layer = std::make_shared<Layer>();
  Prepared prepared;
  prepared.keep = layer;
  const Result<const Operation*> ours = layer->add({.op = "conv1d-maxpool",
                                                    .variant = "fused",
                                                    .sizes = {{"k", size.k},
                                                              {"d_e", size.d_e},
                                                              {"d_c", size.d_c},
                                                              {"n", size.n},
                                                              {"batch", size.batch}}},
                                                   nullptr);
  if (!ours) return error_of(ours);
  const std::size_t positions = size.batch * (size.n - size.k + 1);
  prepared.flops = 2.0 * static_cast<double>(positions * size.d_c * size.k * size.d_e);
  prepared.row = {(*ours)->task().cost, (*ours)->task().shape};
  // A batch of documents says how long they are together.
  prepared.row.sizes.insert(prepared.row.sizes.end(),
                            {{"rows", size.batch * size.n}, {"positions", positions}});
  if (auto right = start_with_ours(prepared, "fused", **ours); !right) return error_of(right);
  if (!with_peers) return prepared;

  if (auto done = add_unfused(prepared, *layer, "simd", size, "simd", nullptr); !done) {
    return error_of(done);
  }
  for (const NamedBlas& blas : peers.blas) {
    auto done =
        add_unfused(prepared, *layer, blas.name + "-shifted", size, "blas-shifted", &blas.library);
    if (!done) return error_of(done);
  }
  if (!peers.blas.empty()) {  // far behind shifted: once is enough
    const NamedBlas& blas = peers.blas.front();
    auto done =
        add_unfused(prepared, *layer, blas.name + "-im2col", size, "blas-im2col", &blas.library);
    if (!done) return error_of(done);
  }
  for (std::size_t b = 0; b <= size.batch; ++b) layer->row_start.push_back(b * size.n);
  add_onednn(prepared,
             onednn_conv1d_maxpool({.shape = {size.k, size.d_e, size.d_c},
                                    .row_start = layer->row_start,
                                    .x = layer->floats("input"),
                                    .w = layer->floats("w"),
                                    .bias = layer->floats("bias"),
                                    .team = &one_thread()}),
             (*ours)->output());
  add_torch(
      prepared, peers,
      fmt::format(R"({{"op": "conv1d", "k": {}, "d_e": {}, "d_c": {}, "n": {}, "batch": {}}})",
                  size.k, size.d_e, size.d_c, size.n, size.batch));
  return prepared;
}

struct LinearSize {
  std::size_t outputs, inputs, batch;
};

Result<Prepared> prepare_linear(const LinearSize& size, Peers& peers) {
  const auto layer = std::make_shared<Layer>();
  Prepared prepared;
  prepared.keep = layer;
  prepared.flops = 2.0 * static_cast<double>(size.batch * size.inputs * size.outputs);
  OperationSpec spec{.op = "linear",
                     .variant = "simd",
                     .sizes = {{"d_c", size.inputs}, {"l", size.outputs}, {"batch", size.batch}}};
  const Result<const Operation*> ours = layer->add(spec, nullptr);
  if (!ours) return error_of(ours);
  prepared.row = {(*ours)->task().cost, (*ours)->task().shape};
  // The text CNN's and the MLP's names.
  prepared.row.sizes.insert(prepared.row.sizes.end(),
                            {{"inputs", size.inputs}, {"outputs", size.outputs}});
  if (auto right = start_with_ours(prepared, "simd", **ours); !right) return error_of(right);
  // The result is the layer's: what ours gave is kept beside it.
  const auto expected =
      std::make_shared<std::vector<float>>((*ours)->output().begin(), (*ours)->output().end());
  for (const NamedBlas& blas : peers.blas) {
    for (const char* variant : {"gemm", "gemv"}) {
      spec.variant = fmt::format("blas-{}", variant);
      const Result<const Operation*> peer = layer->add(spec, &blas.library);
      if (!peer) return error_of(peer);
      add_peer(
          prepared, fmt::format("{}-{}", blas.name, variant), (*peer)->task().run,
          [z = (*peer)->output()] { return std::vector<float>(z.begin(), z.end()); }, *expected);
    }
  }
  add_onednn(prepared,
             onednn_linear({.shape = {size.inputs, size.outputs},
                            .documents = size.batch,
                            .g = layer->floats("input"),
                            .a = layer->floats("w"),
                            .c = layer->floats("bias"),
                            .team = &one_thread()}),
             *expected);
  add_torch(prepared, peers,
            fmt::format(R"({{"op": "linear", "inputs": {}, "outputs": {}, "batch": {}}})",
                        size.inputs, size.outputs, size.batch));
  return prepared;
}

// {k, n, d_e, d_c, batch}
constexpr Conv1dSize kConv1d[] = {
    {2, 124, 300, 128, 64}, {4, 124, 300, 128, 64}, {8, 124, 300, 128, 64}, {2, 124, 300, 128, 1},
    {4, 124, 300, 128, 1},  {8, 124, 300, 128, 1},  {3, 124, 300, 100, 64}, {4, 124, 300, 100, 64},
    {5, 124, 300, 100, 64}, {3, 124, 300, 100, 1},  {4, 124, 300, 100, 1},  {5, 124, 300, 100, 1},
    {4, 20, 300, 128, 64},  {4, 50, 300, 128, 64},  {4, 500, 300, 128, 16}, {4, 2000, 300, 128, 4},
    {4, 20, 300, 128, 1},   {4, 2000, 300, 128, 1}, {4, 124, 50, 128, 64},  {4, 124, 100, 128, 64},
    {4, 124, 200, 128, 64}, {4, 124, 768, 128, 64}, {4, 124, 50, 128, 1},   {4, 124, 768, 128, 1},
};
// Fewer filters than a vector has lanes, and few positions.
constexpr Conv1dSize kFew[] = {
    {4, 124, 300, 1, 1},  {4, 124, 300, 2, 1},  {4, 124, 300, 3, 1},  {4, 124, 300, 5, 1},
    {4, 124, 300, 7, 1},  {4, 124, 300, 11, 1}, {4, 124, 300, 15, 1}, {4, 124, 300, 1, 64},
    {4, 124, 300, 3, 64}, {4, 124, 300, 7, 64}, {4, 4, 300, 128, 1},  {4, 5, 300, 128, 1},
    {4, 6, 300, 128, 1},  {4, 11, 300, 128, 1}, {4, 19, 300, 128, 1},
};
// Again without any instruction set above AVX2, against the peak of AVX2.
constexpr std::size_t kCapped = 6;

constexpr LinearSize kLinear[] = {{103, 128, 64}, {103, 128, 1}, {1000, 512, 64}, {1000, 512, 1}};

std::string name_of(const Conv1dSize& size) {
  return fmt::format("conv1d-maxpool/k:{}/n:{}/d_e:{}/d_c:{}/batch:{}", size.k, size.n, size.d_e,
                     size.d_c, size.batch);
}

}  // namespace

void add_text_cnn_cases(std::vector<Case>& cases) {
  for (const Conv1dSize& size : kConv1d) {
    cases.push_back(
        {name_of(size), "", [size](Peers& peers) { return prepare_conv1d(size, true, peers); }});
  }
  for (const Conv1dSize& size : kFew) {
    cases.push_back(
        {name_of(size), "", [size](Peers& peers) { return prepare_conv1d(size, false, peers); }});
  }
  for (const LinearSize& size : kLinear) {
    cases.push_back({fmt::format("linear/{}x{}/batch:{}", size.outputs, size.inputs, size.batch),
                     "", [size](Peers& peers) { return prepare_linear(size, peers); }});
  }
#if defined(__x86_64__)
  for (const Conv1dSize& size : std::span(kConv1d).first(kCapped)) {
    cases.push_back({"avx2/" + name_of(size), "avx2",
                     [size](Peers& peers) { return prepare_conv1d(size, false, peers); }});
  }
#endif
}

}  // namespace hwprof::bench
