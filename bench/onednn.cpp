#include "bench/onednn.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "kernels/registry.h"

namespace hwprof::bench {

Conv2dShape conv2d_shape(const Sizes& sizes) {
  const auto size = [&](std::string_view name) { return size_of(sizes, name); };
  return {size("height"), size("width"),  size("c_in"),
          size("c_out"),  size("kernel"), size("stride")};
}

}  // namespace hwprof::bench

#if HWPROF_HAVE_ONEDNN

#include <oneapi/dnnl/dnnl.hpp>

namespace hwprof::bench {
namespace {

using Tag = dnnl::memory::format_tag;
using Desc = dnnl::memory::desc;
using dnnl::memory;

Desc floats(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

memory::dim dim(std::size_t value) { return static_cast<memory::dim>(value); }

const float* floats_of(const LayerMemory& memory, std::string_view name) {
  return memory.floats.find(name)->second.data();
}

// A convolution with its batch normalisation in weights and a bias.
struct ConvLayer {
  Conv2dShape shape;
  bool relu = false;
  std::vector<float> w = {}, bias = {};  // w: [c_out, kernel, kernel, c_in]
};

ConvLayer folded(const Sizes& sizes, const LayerMemory& memory) {
  ConvLayer layer{.shape = conv2d_shape(sizes), .relu = size_of(sizes, "relu") != 0};
  const BatchnormParameters bn{.gamma = floats_of(memory, "gamma"),
                               .beta = floats_of(memory, "beta"),
                               .mean = floats_of(memory, "mean"),
                               .variance = floats_of(memory, "variance")};
  const float* w = floats_of(memory, "w");
  const std::size_t depth = layer.shape.depth();
  for (std::size_t j = 0; j < layer.shape.c_out; ++j) {
    const Affine affine = batchnorm_affine(bn, j);
    for (std::size_t i = 0; i < depth; ++i) layer.w.push_back(w[j * depth + i] * affine.scale);
    layer.bias.push_back(affine.shift);
  }
  return layer;
}

// A sequence of primitives on one in-order stream, and the memory that they work on.
class Sequence {
 public:
  // Memory of `desc` with the values of `plain`, laid out as `plain_desc`.
  memory load(const Desc& desc, const Desc& plain_desc, const float* plain) {
    memory source(plain_desc, engine_, const_cast<float*>(plain));
    memory target(desc, engine_);
    dnnl::reorder(source, target).execute(stream_, source, target);
    stream_.wait();
    return target;
  }
  memory make(const Desc& desc) { return {desc, engine_}; }
  const dnnl::engine& engine() const { return engine_; }

  void add(const dnnl::primitive& primitive, const std::vector<std::pair<int, memory>>& arguments) {
    Step step{primitive, {}};
    for (const auto& [index, operand] : arguments) {
      keep_.push_back(operand);
      step.arguments.push_back({index, operand.get()});
    }
    steps_.push_back(std::move(step));
  }

  void run() {
    for (const Step& step : steps_) {
      dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                             static_cast<int>(step.arguments.size()), step.arguments.data());
    }
    dnnl_stream_wait(stream_.get());
  }

  std::vector<float> read(memory source, const Desc& plain_desc) {
    std::vector<float> values(plain_desc.get_size() / sizeof(float));
    memory target(plain_desc, engine_, values.data());
    dnnl::reorder(source, target).execute(stream_, source, target);
    stream_.wait();
    return values;
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<memory> keep_;
  std::vector<Step> steps_;
};

OnednnWork work_of(const std::shared_ptr<Sequence>& sequence, const memory& result,
                   const Desc& plain) {
  return {[sequence] { sequence->run(); },
          [sequence, result, plain] { return sequence->read(result, plain); }};
}

template <class Build>
Result<OnednnWork> built(const Build& build) {
  try {
    return build();
  } catch (const dnnl::error& error) {
    return environment_error(0, fmt::format("oneDNN: {}", error.what()));
  }
}

dnnl::primitive_attr attributes(bool sum, bool relu) {
  dnnl::post_ops operations;
  if (sum) operations.append_sum(1);
  if (relu) operations.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(operations);
  return attributes;
}

// Adds a convolution of `x`; into `sum_into` (y = relu(conv(x) + y)) where that is given.
memory add_conv2d(Sequence& sequence, const ConvLayer& layer, const memory& x, Tag y_tag,
                  const memory* sum_into) {
  const Conv2dShape& shape = layer.shape;
  const auto side = dim(shape.kernel), pad = dim(shape.padding()), stride = dim(shape.stride);
  const memory::dims w_dims{dim(shape.c_out), dim(shape.c_in), side, side};
  const Desc w = floats(w_dims, Tag::any), bias = floats({dim(shape.c_out)}, Tag::x);
  const Desc y =
      floats({1, dim(shape.c_out), dim(shape.out_height()), dim(shape.out_width())}, y_tag);
  const dnnl::convolution_forward::desc operation(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, x.get_desc(), w, bias,
      y, {stride, stride}, {pad, pad}, {pad, pad});
  const dnnl::convolution_forward::primitive_desc plan(
      operation, attributes(sum_into != nullptr, layer.relu), sequence.engine());
  memory result = sum_into != nullptr ? *sum_into : sequence.make(plan.dst_desc());
  sequence.add(dnnl::convolution_forward(plan),
               {{DNNL_ARG_SRC, x},
                {DNNL_ARG_WEIGHTS,
                 sequence.load(plan.weights_desc(), floats(w_dims, Tag::ohwi), layer.w.data())},
                {DNNL_ARG_BIAS, sequence.load(bias, bias, layer.bias.data())},
                {DNNL_ARG_DST, result}});
  return result;
}

memory add_linear(Sequence& sequence, const Desc& x_desc, const memory& x, const LinearCall& call) {
  const memory::dims w_dims{dim(call.shape.outputs), dim(call.shape.inputs)};
  const Desc bias = floats({w_dims[0]}, Tag::x);
  const dnnl::inner_product_forward::desc operation(
      dnnl::prop_kind::forward_inference, x_desc, floats(w_dims, Tag::any), bias,
      floats({dim(call.documents), w_dims[0]}, Tag::nc));
  const dnnl::inner_product_forward::primitive_desc plan(operation, sequence.engine());
  memory z = sequence.make(plan.dst_desc());
  sequence.add(
      dnnl::inner_product_forward(plan),
      {{DNNL_ARG_SRC, x},
       {DNNL_ARG_WEIGHTS, sequence.load(plan.weights_desc(), floats(w_dims, Tag::oi), call.a)},
       {DNNL_ARG_BIAS, sequence.load(bias, bias, call.c)},
       {DNNL_ARG_DST, z}});
  return z;
}

}  // namespace

Result<std::string> onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

Result<OnednnWork> onednn_conv1d_maxpool(const Conv1dInput& input) {
  return built([&] {
    auto sequence = std::make_shared<Sequence>();
    const Conv1dShape& shape = input.shape;
    const auto documents = dim(input.documents()), d_c = dim(shape.d_c);
    const auto n = dim(input.row_start[1]), positions = dim(input.positions(0));
    const Desc x = floats({documents, dim(shape.d_e), n}, Tag::nwc);
    const memory::dims w_dims{d_c, dim(shape.d_e), dim(shape.k)};
    const Desc bias = floats({d_c}, Tag::x);
    const dnnl::convolution_forward::desc operation(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, x,
        floats(w_dims, Tag::any), bias, floats({documents, d_c, positions}, Tag::any), {1}, {0},
        {0});
    const dnnl::convolution_forward::primitive_desc plan(operation, attributes(false, true),
                                                         sequence->engine());
    const memory h = sequence->make(plan.dst_desc());
    sequence->add(
        dnnl::convolution_forward(plan),
        {{DNNL_ARG_SRC, sequence->load(x, x, input.x)},
         {DNNL_ARG_WEIGHTS, sequence->load(plan.weights_desc(), floats(w_dims, Tag::owi), input.w)},
         {DNNL_ARG_BIAS, sequence->load(bias, bias, input.bias)},
         {DNNL_ARG_DST, h}});
    const dnnl::pooling_forward::desc pooling(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max, h.get_desc(),
        floats({documents, d_c, 1}, Tag::any), {1}, {positions}, {0}, {0});
    const dnnl::pooling_forward::primitive_desc pool_plan(pooling, sequence->engine());
    const memory g = sequence->make(pool_plan.dst_desc());
    sequence->add(dnnl::pooling_forward(pool_plan), {{DNNL_ARG_SRC, h}, {DNNL_ARG_DST, g}});
    return work_of(sequence, g, floats({documents, d_c, 1}, Tag::nwc));
  });
}

Result<OnednnWork> onednn_linear(const LinearCall& call) {
  return built([&] {
    auto sequence = std::make_shared<Sequence>();
    const Desc x = floats({dim(call.documents), dim(call.shape.inputs)}, Tag::nc);
    const memory z = add_linear(*sequence, x, sequence->load(x, x, call.g), call);
    return work_of(sequence, z, z.get_desc());
  });
}

Result<OnednnWork> onednn_conv2d(const Sizes& sizes, const LayerMemory& memory_of) {
  return built([&] {
    auto sequence = std::make_shared<Sequence>();
    const ConvLayer layer = folded(sizes, memory_of);
    const Conv2dShape& shape = layer.shape;
    const memory::dims x_dims{1, dim(shape.c_in), dim(shape.height), dim(shape.width)};
    const memory::dims y_dims{1, dim(shape.c_out), dim(shape.out_height()), dim(shape.out_width())};
    const auto side = dim(shape.kernel), pad = dim(shape.padding()), stride = dim(shape.stride);
    // What it would choose, were the layout of x free.
    const dnnl::convolution_forward::desc free(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto,
        floats(x_dims, Tag::any), floats({y_dims[1], x_dims[1], side, side}, Tag::any),
        floats({y_dims[1]}, Tag::x), floats(y_dims, Tag::any), {stride, stride}, {pad, pad},
        {pad, pad});
    const dnnl::convolution_forward::primitive_desc plan(free, attributes(false, layer.relu),
                                                         sequence->engine());
    const memory source =
        sequence->load(plan.src_desc(), floats(x_dims, Tag::nhwc), floats_of(memory_of, "input"));
    const memory y = add_conv2d(*sequence, layer, source, Tag::any, nullptr);
    return work_of(sequence, y, floats(y_dims, Tag::nhwc));
  });
}

Result<OnednnWork> onednn_network(const LayerNet& net, std::span<const float> input,
                                  const std::deque<LayerMemory>& memory_of) {
  return built([&]() -> Result<OnednnWork> {
    auto sequence = std::make_shared<Sequence>();
    constexpr Tag kTag = Tag::nhwc;
    const TensorShape& shape = net.network().input;
    const Desc image = floats({1, dim(shape[3]), dim(shape[1]), dim(shape[2])}, kTag);
    const memory first = sequence->load(image, image, input.data());
    std::vector<memory> outputs;
    for (std::size_t i = 0; i < net.network().layers.size(); ++i) {
      const NetworkLayer& layer = net.network().layers[i];
      const auto read = [&](std::size_t k) {
        return layer.inputs[k] == kNetworkInput ? first : outputs[layer.inputs[k]];
      };
      const memory x = read(0);
      if (layer.kind->name == "conv2d-bn-relu") {
        const memory addend =
            read(layer.inputs.size() - 1);  // is overwritten: nobody else reads it
        outputs.push_back(add_conv2d(*sequence, folded(layer.sizes, memory_of[i]), x, kTag,
                                     layer.inputs.size() > 1 ? &addend : nullptr));
      } else if (layer.kind->name == "average-pool") {
        const memory::dims dims = x.get_desc().dims();
        const dnnl::pooling_forward::desc pooling(
            dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_avg_exclude_padding,
            x.get_desc(), floats({1, dims[1], 1, 1}, Tag::any), {1, 1}, {dims[2], dims[3]}, {0, 0},
            {0, 0});
        const dnnl::pooling_forward::primitive_desc plan(pooling, sequence->engine());
        outputs.push_back(sequence->make(plan.dst_desc()));
        sequence->add(dnnl::pooling_forward(plan),
                      {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, outputs.back()}});
      } else if (layer.kind->name == "reshape") {
        // Channels of one pixel lie side by side in either layout.
        outputs.emplace_back(floats({1, dim(layer.output.back())}, Tag::nc), sequence->engine(),
                             x.get_data_handle());
      } else if (layer.kind->name == "linear") {
        outputs.push_back(
            add_linear(*sequence, x.get_desc(), x,
                       {.shape = {size_of(layer.sizes, "d_c"), size_of(layer.sizes, "l")},
                        .documents = 1,
                        .a = floats_of(memory_of[i], "w"),
                        .c = floats_of(memory_of[i], "bias")}));
      } else {
        return environment_error(0, fmt::format("oneDNN: no primitive for {}", layer.kind->name));
      }
    }
    return work_of(sequence, outputs.back(), outputs.back().get_desc());
  });
}

}  // namespace hwprof::bench

#else

namespace hwprof::bench {

static tl::unexpected<Error> none() {
  return environment_error(0, "built without oneDNN (Debian: libdnnl-dev)");
}

Result<std::string> onednn_version() { return none(); }
Result<OnednnWork> onednn_conv1d_maxpool(const Conv1dInput&) { return none(); }
Result<OnednnWork> onednn_linear(const LinearCall&) { return none(); }
Result<OnednnWork> onednn_conv2d(const Sizes&, const LayerMemory&) { return none(); }
Result<OnednnWork> onednn_network(const LayerNet&, std::span<const float>,
                                  const std::deque<LayerMemory>&) {
  return none();
}

}  // namespace hwprof::bench

#endif
