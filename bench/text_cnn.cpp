// The text CNN's layers, everybody who can do them: conv1d + bias + ReLU + max over time, linear.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "bench/case.h"
#include "bench/onednn.h"
#include "kernels/registry.h"

namespace hwprof::bench {
namespace {

struct Conv1dSize {
  std::size_t k, n, d_e, d_c, batch;
};

struct Conv1dData {
  Conv1dSize size;
  std::vector<std::size_t> row_start{}, position_start{};
  FloatBuffer x{}, w{}, bias{}, packed{}, h{}, scratch{}, expected{}, g{};

  [[nodiscard]] Conv1dShape shape() const { return {size.k, size.d_e, size.d_c}; }
  [[nodiscard]] std::size_t positions() const { return position_start.back(); }

  [[nodiscard]] Conv1dInput input() const {
    return {.shape = shape(),
            .row_start = row_start,
            .x = x.data(),
            .w = w.data(),
            .packed = packed.data(),
            .bias = bias.data(),
            .team = &one_thread()};
  }
  Conv1dCall conv1d(const BlasLibrary* blas) {
    return {.input = input(), .h = h.data(), .scratch = scratch.data(), .blas = blas};
  }
  MaxpoolCall maxpool() {
    return {.d_c = size.d_c,
            .start = position_start,
            .h = h.data(),
            .g = g.data(),
            .g_stride = size.d_c,
            .team = &one_thread()};
  }
  Conv1dMaxpoolCall fused() {
    return {.input = input(), .g = expected.data(), .g_stride = size.d_c};
  }
};

struct Request {
  FloatBuffer* buffer;
  std::size_t count;
  float bound;
};

Result<void> fill(std::initializer_list<Request> requests) {
  for (const Request& request : requests) {
    Result<FloatBuffer> made = random_floats(request.count, request.bound);
    if (!made) return error_of(made);
    *request.buffer = std::move(*made);
  }
  return {};
}

float fan_in_bound(std::size_t fan_in) { return 1 / std::sqrt(static_cast<float>(fan_in)); }

Result<std::shared_ptr<Conv1dData>> make_conv1d(const Conv1dSize& size) {
  auto data = std::make_shared<Conv1dData>(Conv1dData{.size = size});
  for (std::size_t b = 0; b <= size.batch; ++b) {
    data->row_start.push_back(b * size.n);
    data->position_start.push_back(b * (size.n - size.k + 1));
  }
  const Conv1dShape shape = data->shape();
  const float bound = fan_in_bound(size.k * size.d_e);
  const Result<void> filled = fill({{&data->x, size.batch * size.n * size.d_e, 1},
                                    {&data->w, size.d_c * size.k * size.d_e, bound},
                                    {&data->bias, size.d_c, bound},
                                    {&data->packed, conv1d_simd_packed_floats(shape), bound},
                                    {&data->h, data->positions() * size.d_c, 1},
                                    {&data->scratch, conv1d_im2col_scratch(shape, size.n), 1},
                                    {&data->expected, size.batch * size.d_c, 1},
                                    {&data->g, size.batch * size.d_c, 1}});
  if (!filled) return error_of(filled);
  conv1d_simd_pack(shape, data->w.data(), data->packed.data());
  return data;
}

// One that writes the feature map, followed by our pooling: it costs a BLAS as little as can be.
void add_unfused(Prepared& prepared, const std::string& name,
                 const std::shared_ptr<Conv1dData>& data, void (*conv1d)(const Conv1dCall&),
                 const BlasLibrary* blas) {
  add_peer(
      prepared, name,
      [data, conv1d, convolution = data->conv1d(blas), pooling = data->maxpool()] {
        conv1d(convolution);
        maxpool_simd(pooling);
      },
      [data] { return std::vector<float>(data->g.span().begin(), data->g.span().end()); },
      data->expected.span());
}

// Ours is checked too: against the double-precision reference would take seconds, so the reference
// variant does the first document.
Result<void> check_first_document(Conv1dData& data) {
  Conv1dMaxpoolCall call = data.fused();
  call.input.row_start = call.input.row_start.first(2);
  call.g = data.g.data();
  conv1d_maxpool_reference(call);
  for (std::size_t j = 0; j < data.size.d_c; ++j) {
    const float difference = std::abs(data.g[j] - data.expected[j]);
    if (!(difference <= 1e-4f * std::abs(data.g[j]) + 1e-5f)) {
      return environment_error(
          0, fmt::format("ours is wrong: {} instead of {}", data.expected[j], data.g[j]));
    }
  }
  return {};
}

Result<Prepared> prepare_conv1d(const Conv1dSize& size, bool with_peers, Peers& peers) {
  const auto made = make_conv1d(size);
  if (!made) return error_of(made);
  const std::shared_ptr<Conv1dData>& data = *made;
  Prepared prepared;
  prepared.flops = 2.0 * static_cast<double>(data->positions() * size.d_c * size.k * size.d_e);
  add_ours(prepared, "fused", [data, call = data->fused()] { conv1d_maxpool_fused(call); });
  if (const auto right = check_first_document(*data); !right) return error_of(right);
  if (!with_peers) return prepared;

  add_unfused(prepared, "simd", data, conv1d_simd, nullptr);
  for (const NamedBlas& blas : peers.blas) {
    add_unfused(prepared, blas.name + "-shifted", data, conv1d_blas_shifted, &blas.library);
  }
  if (!peers.blas.empty()) {  // far behind shifted: once is enough
    const NamedBlas& blas = peers.blas.front();
    add_unfused(prepared, blas.name + "-im2col", data, conv1d_blas_im2col, &blas.library);
  }
  const Result<OnednnWork> onednn = onednn_conv1d_maxpool(data->input());
  if (onednn) {
    add_peer(prepared, "onednn", onednn->run, onednn->output, data->expected.span());
  } else {
    add_absent(prepared, "onednn", onednn.error());
  }
  add_torch(
      prepared, peers,
      fmt::format(R"({{"op": "conv1d", "k": {}, "d_e": {}, "d_c": {}, "n": {}, "batch": {}}})",
                  size.k, size.d_e, size.d_c, size.n, size.batch));
  return prepared;
}

struct LinearSize {
  std::size_t outputs, inputs, batch;
};

struct LinearData {
  LinearSize size;
  FloatBuffer g{}, a{}, packed{}, c{}, expected{}, z{};

  LinearCall call(const BlasLibrary* blas, FloatBuffer& out) {
    return {.shape = {size.inputs, size.outputs},
            .documents = size.batch,
            .g = g.data(),
            .a = a.data(),
            .packed = packed.data(),
            .c = c.data(),
            .z = out.data(),
            .blas = blas,
            .team = &one_thread()};
  }
};

Result<Prepared> prepare_linear(const LinearSize& size, Peers& peers) {
  auto data = std::make_shared<LinearData>(LinearData{.size = size});
  const LinearShape shape{size.inputs, size.outputs};
  const float bound = fan_in_bound(size.inputs);
  const Result<void> filled = fill({{&data->g, size.batch * size.inputs, 1},
                                    {&data->a, size.outputs * size.inputs, bound},
                                    {&data->packed, linear_simd_packed_floats(shape), bound},
                                    {&data->c, size.outputs, bound},
                                    {&data->expected, size.batch * size.outputs, 1},
                                    {&data->z, size.batch * size.outputs, 1}});
  if (!filled) return error_of(filled);
  linear_simd_pack(shape, data->a.data(), data->packed.data());

  Prepared prepared;
  prepared.flops = 2.0 * static_cast<double>(size.batch * size.inputs * size.outputs);
  add_ours(prepared, "simd",
           [data, call = data->call(nullptr, data->expected)] { linear_simd(call); });
  const auto add = [&](const std::string& name, void (*linear)(const LinearCall&),
                       const BlasLibrary* blas) {
    add_peer(
        prepared, name, [data, linear, call = data->call(blas, data->z)] { linear(call); },
        [data] { return std::vector<float>(data->z.span().begin(), data->z.span().end()); },
        data->expected.span());
  };
  for (const NamedBlas& blas : peers.blas) {
    add(blas.name + "-gemm", linear_blas_gemm, &blas.library);
    add(blas.name + "-gemv", linear_blas_gemv, &blas.library);
  }
  const Result<OnednnWork> onednn = onednn_linear(data->call(nullptr, data->z));
  if (onednn) {
    add_peer(prepared, "onednn", onednn->run, onednn->output, data->expected.span());
  } else {
    add_absent(prepared, "onednn", onednn.error());
  }
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
// Again without any instruction set above AVX2, against the peak of AVX2.
constexpr std::size_t kCapped = 6;

constexpr LinearSize kLinear[] = {{103, 128, 64}, {103, 128, 1}, {1000, 512, 64}, {1000, 512, 1}};

std::string name_of(const Conv1dSize& size) {
  return fmt::format("conv1d/k:{}/n:{}/d_e:{}/d_c:{}/batch:{}", size.k, size.n, size.d_e, size.d_c,
                     size.batch);
}

}  // namespace

void add_text_cnn_cases(std::vector<Case>& cases) {
  for (const Conv1dSize& size : kConv1d) {
    cases.push_back(
        {name_of(size), "", [size](Peers& peers) { return prepare_conv1d(size, true, peers); }});
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
