#include <fmt/format.h>

#include "src/workloads/networks/layer_graph.h"

namespace hwprof {

LayerGraph resnet20() {
  LayerGraph graph{.name = "resnet20", .input = {1, 32, 32, 3}, .layers = {}};
  const auto add = [&graph](std::string name, std::string op, Sizes sizes = {},
                            std::vector<std::string> inputs = {}) {
    graph.layers.push_back({std::move(name), std::move(op), std::move(sizes), std::move(inputs)});
  };
  const auto conv_bn = [&add](const std::string& prefix, const std::string& suffix,
                              std::uint64_t c_out, std::uint64_t kernel, std::uint64_t stride,
                              std::vector<std::string> inputs = {}) {
    add(prefix + "conv" + suffix, "conv2d",
        {{"c_out", c_out}, {"kernel", kernel}, {"stride", stride}}, std::move(inputs));
    add(prefix + "bn" + suffix, "batchnorm");
  };
  conv_bn("", "0", 16, 3, 1);
  add("relu0", "relu");
  std::string before = "relu0";
  std::uint64_t c_in = 16;
  for (int block = 1; block <= 9; ++block) {
    const std::uint64_t c_out = std::uint64_t{16} << ((block - 1) / 3);
    const std::uint64_t stride = c_out == c_in ? 1 : 2;
    const std::string prefix = fmt::format("block{}.", block);
    conv_bn(prefix, "1", c_out, 3, stride);
    add(prefix + "relu1", "relu");
    conv_bn(prefix, "2", c_out, 3, 1);
    if (stride != 1) {
      conv_bn(prefix, "3", c_out, 1, stride, {before});
      add(prefix + "add", "add", {}, {prefix + "bn2", prefix + "bn3"});
    }
    add(prefix + "relu2", "relu");
    before = prefix + "relu2";
    c_in = c_out;
  }
  add("pool", "average-pool");
  add("flatten", "reshape");
  add("linear", "linear", {{"l", 10}});
  return graph;
}

}  // namespace hwprof
