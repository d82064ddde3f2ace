#include "src/workloads/networks/layer_net.h"

#include <gtest/gtest.h>

#include <string>

#include "src/workloads/networks/layer_graph.h"

namespace hwprof {
namespace {

const BlasLibrary* blas() {
  static const Result<BlasLibrary> library = BlasLibrary::load("");
  return library ? &*library : nullptr;
}

ThreadTeam& team() {
  static ThreadTeam threads(2, {});
  return threads;
}

// Error of each form against double precision; forms that need a BLAS are left out without one.
void expect_every_form_right(const LayerGraph& graph) {
  const Result<Network> network = resolve(graph, 3);
  ASSERT_TRUE(network.has_value()) << network.error().what;
  const Result<FloatBuffer> input = network_input(*network, 3);
  const auto expected = expected_output(*network, input->span(), team());
  ASSERT_TRUE(expected.has_value());
  for (const NetForm& form : net_forms()) {
    const auto net = LayerNet::create(*network, form, input->span(), blas(), "no BLAS", team());
    ASSERT_TRUE(net.has_value()) << net.error().what;
    if (!net->reason().empty()) continue;
    net->run();
    ASSERT_EQ(net->output().size(), expected->size());
    EXPECT_LT(output_error(*expected, net->output()), 1e-5) << graph.name << " " << form.name;
    for (const Operation& layer : net->layers()) EXPECT_LT(layer.task().check(), 1e-5);
  }
}

TEST(LayerNet, EveryFormOfResNet20IsRight) { expect_every_form_right(resnet20()); }

TEST(LayerNet, EveryFormOfATextCnnIsRight) {
  expect_every_form_right({"text",
                           {3, 12, 9},
                           {{"c", "conv1d", {{"k", 2}, {"d_c", 7}}, {}},
                            {"p", "maxpool", {}, {}},
                            {"l", "linear", {{"l", 5}}, {}},
                            {"s", "softmax", {}, {}}}});
}

TEST(LayerNet, AResidualBlockMayAddItsOwnInput) {
  expect_every_form_right({"residual",
                           {2, 5, 5, 8},
                           {{"c", "conv2d", {{"c_out", 8}, {"kernel", 3}, {"stride", 1}}, {}},
                            {"b", "batchnorm", {}, {}},
                            {"a", "add", {}, {"input", "b"}},
                            {"r", "relu", {}, {}},
                            {"twice", "add", {}, {"r", "r"}}}});
}

TEST(LayerNet, ActivationsNeitherVanishNorExplode) {
  const Network network = *resolve(resnet20(), 0);
  const Result<FloatBuffer> input = network_input(network, 0);
  const auto net =
      LayerNet::create(network, net_forms().front(), input->span(), nullptr, "", team());
  net->run();
  for (const Operation& layer : net->layers()) {
    float largest = 0;
    for (const float value : layer.output()) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 0.01F);
    EXPECT_LT(largest, 1000.0F);
  }
}

TEST(LayerNet, WithoutABlasTheFormThatNeedsOneHasTheReason) {
  const Network network = *resolve(resnet20(), 0);
  const Result<FloatBuffer> input = network_input(network, 0);
  for (const NetForm& form : net_forms()) {
    const auto net = LayerNet::create(network, form, input->span(), nullptr, "no BLAS", team());
    EXPECT_EQ(net->reason(), form.name == "blas" ? "no BLAS" : "") << form.name;
  }
}

TEST(LayerNet, CostAndMemoryAreThoseOfTheLayers) {
  const Network network = *resolve(resnet20(), 0);
  const Result<FloatBuffer> input = network_input(network, 0);
  double flops = 0;
  const auto net =
      LayerNet::create(network, net_forms().front(), input->span(), nullptr, "", team());
  for (const Operation& layer : net->layers()) flops += layer.task().cost.flops;
  EXPECT_EQ(net->cost().flops, flops);
  EXPECT_GT(flops, 60e6);
  EXPECT_GT(LayerNet::bytes_needed(network, net_forms()[0]),
            LayerNet::bytes_needed(network, net_forms()[1]))
      << "merged layers write less";
}

TEST(OutputError, IsRelativeToTheLargestAndSeesANan) {
  const float got[] = {1.0F, 2.5F};
  EXPECT_DOUBLE_EQ(output_error({1, 2}, got), 0.25);
  const float bad[] = {1.0F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(std::isinf(output_error({1, 2}, bad)));
}

}  // namespace
}  // namespace hwprof
