// Primitives of a real oneDNN, each a known number of times: a convolution forward and backward, a
// product of matrices, an activation.
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>
#include <vector>

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc floats(const memory::dims& sizes, Tag tag) {
  return {sizes, memory::data_type::f32, tag};
}

void run(const dnnl::primitive& primitive, const std::vector<std::pair<int, memory::desc>>& tensors,
         int times) {
  dnnl::stream stream(engine());
  std::vector<std::vector<float>> numbers;
  std::unordered_map<int, memory> arguments;
  for (const auto& [argument, tensor] : tensors) {
    numbers.emplace_back(tensor.get_size() / sizeof(float), 0.5F);
    arguments.emplace(argument, memory(tensor, engine(), numbers.back().data()));
  }
  for (int i = 0; i < times; ++i) primitive.execute(stream, arguments);
  stream.wait();
}

void convolve() {
  const memory::desc source = floats({4, 8, 20, 20}, Tag::nchw),
                     weights = floats({16, 8, 3, 3}, Tag::oihw),
                     result = floats({4, 16, 18, 18}, Tag::nchw);
  const memory::dims strides{1, 1}, padding{0, 0};
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, source, weights,
       result, strides, padding, padding},
      engine());
  run(dnnl::convolution_forward(forward),
      {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, result}}, 30);
  const dnnl::convolution_backward_data::primitive_desc backward(
      {dnnl::algorithm::convolution_direct, source, weights, result, strides, padding, padding},
      engine(), forward);
  run(dnnl::convolution_backward_data(backward),
      {{DNNL_ARG_DIFF_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_DST, result}}, 20);
}

void multiply() {
  const memory::desc a = floats({32, 64}, Tag::ab), b = floats({64, 16}, Tag::ab),
                     c = floats({32, 16}, Tag::ab);
  run(dnnl::matmul(dnnl::matmul::primitive_desc({a, b, c}, engine())),
      {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}}, 10);
}

void activate() {
  const memory::desc x = floats({4, 16, 18, 18}, Tag::nchw);
  const dnnl::eltwise_forward::primitive_desc relu(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_relu, x, 0, 0}, engine());
  run(dnnl::eltwise_forward(relu), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, x}}, 7);
}

}  // namespace

int main() {
  convolve();
  multiply();
  activate();
}
