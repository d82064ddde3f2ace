#include "src/workloads/networks/layer_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "src/workloads/networks/layer_json.h"
#include "tests/temporary_file.h"

namespace hwprof {
namespace {

using testing::HasSubstr;

const Layer kConv{"conv", "conv2d", {{"c_out", 8}, {"kernel", 3}, {"stride", 2}}, {}};

Error refusal(std::vector<Layer> layers, TensorShape input = {2, 6, 6, 3}) {
  const Result<Network> network = resolve({"net", std::move(input), std::move(layers)}, 0);
  EXPECT_FALSE(network.has_value());
  return network ? Error{} : network.error();
}

std::vector<std::string_view> types(const Network& network) {
  std::vector<std::string_view> names;
  for (const NetworkLayer& layer : network.layers) names.push_back(layer.kind->type_name);
  return names;
}

TEST(LayerGraph, ResNet20IsTheReportsTableLayerByLayer) {
  const Result<Network> network = resolve(resnet20(), 0);
  ASSERT_TRUE(network.has_value()) << network.error().what;
  std::ifstream file(DATA "/resnet20_chainer.csv");
  std::string line;
  std::getline(file, line);
  std::vector<std::string> expected;
  while (std::getline(file, line)) {
    expected.push_back(line.substr(line.find(',') + 1, line.rfind(',') - line.find(',') - 1));
  }
  ASSERT_EQ(expected.size(), 66U);
  EXPECT_THAT(types(*network), testing::ElementsAreArray(expected));
  EXPECT_EQ(network->layers.back().output, (TensorShape{1, 10}));
  EXPECT_EQ(network->layers[63].output, (TensorShape{1, 1, 1, 64}));
}

TEST(LayerGraph, SizesFollowFromWhatALayerReads) {
  const Result<Network> network =
      resolve({"net", {2, 6, 6, 3}, {kConv, {"relu", "relu", {}, {}}}}, 0);
  ASSERT_TRUE(network.has_value()) << network.error().what;
  EXPECT_EQ(network->layers[0].output, (TensorShape{2, 3, 3, 8}));
  EXPECT_EQ(size_of(network->layers[0].sizes, "c_in"), 3U);
  EXPECT_EQ(size_of(network->layers[1].sizes, "count"), 2U * 3 * 3 * 8);
}

TEST(LayerGraph, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal({}).what, "the workload 'net' has no layers");
  EXPECT_EQ(refusal({kConv, kConv}).what, "two layers have the name 'conv'");
  EXPECT_EQ(refusal({{"input", "relu", {}, {}}}).what, "a layer cannot have the name 'input'");
  EXPECT_EQ(refusal({{"a", "rleu", {}, {}}}).what, "layer 'a' has the unknown operation 'rleu'");
  EXPECT_EQ(refusal({{"a", "rleu", {}, {}}}).hint, "did you mean relu?");
  EXPECT_EQ(refusal({{"a", "conv2d", {{"kernel", 3}, {"stride", 1}}, {}}}).what,
            "layer 'a' (conv2d) has no c_out");
  EXPECT_EQ(refusal({{"a", "conv2d", {{"c_out", 0}, {"kernel", 3}, {"stride", 1}}, {}}}).what,
            "layer 'a': conv2d: c_out=0 is out of range");
  EXPECT_EQ(refusal({{"a", "relu", {{"slope", 3}}, {}}}).what,
            "layer 'a': unknown size of relu 'slope'");
  EXPECT_EQ(refusal({kConv, {"a", "relu", {}, {"cnov"}}}).what,
            "layer 'a' reads 'cnov', which is no layer");
  EXPECT_EQ(refusal({kConv, {"a", "relu", {}, {"cnov"}}}).hint, "did you mean conv?");
  EXPECT_EQ(refusal({kConv, {"a", "add", {}, {"conv"}}}).what,
            "layer 'a' (add) needs 2 inputs, and has 1");
  EXPECT_EQ(refusal({kConv}, {}).fault, Fault::kUsage);
  EXPECT_THAT(refusal({{"a", "relu", {}, {}}}, {1U << 30, 1U << 30, 1U << 30}).what,
              HasSubstr("the input of the workload 'net' has the shape"));
}

TEST(LayerGraph, LayersThatDoNotFitAreNamedWithTheirShapes) {
  EXPECT_EQ(refusal({kConv, {"l", "linear", {{"l", 10}}, {}}}).what,
            "layer 'l' (linear) reads [batch, inputs], and 'conv' gives [2, 3, 3, 8]");
  EXPECT_EQ(
      refusal({kConv, {"flat", "reshape", {}, {}}, {"l", "linear", {{"d_c", 64}, {"l", 10}}, {}}})
          .what,
      "layer 'l' (linear) has d_c=64, and 'flat' gives [2, 72], that is d_c=72");
  EXPECT_EQ(refusal({kConv, {"sum", "add", {}, {"conv", "input"}}}).what,
            "layer 'sum' (add) adds 'conv' of [2, 3, 3, 8] and the input of the network of "
            "[2, 6, 6, 3]");
}

TEST(LayerGraph, ACycleAndAWrongOrderAreToldApart) {
  EXPECT_EQ(refusal({{"a", "relu", {}, {"a"}}}).what,
            "the layers a -> a read each other in a cycle");
  EXPECT_EQ(
      refusal({{"a", "relu", {}, {"c"}}, {"b", "relu", {}, {"a"}}, {"c", "relu", {}, {"b"}}}).what,
      "the layers a -> c -> b -> a read each other in a cycle");
  EXPECT_EQ(refusal({{"a", "relu", {}, {"b"}}, {"b", "relu", {}, {"input"}}}).what,
            "layer 'a' reads 'b', which comes after it");
}

// Each reads the next one many times: what leads from layer to layer is not kept for every reading.
TEST(LayerGraph, AWrongOrderOfManyLayersTakesNoMemory) {
  constexpr std::size_t kLayers = 1000, kReadings = 100;
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < kLayers; ++i) {
    const std::string next = i + 1 < kLayers ? std::to_string(i + 1) : "input";
    layers.push_back({std::to_string(i), "relu", {}, std::vector(kReadings, next)});
  }
  const auto most_kib = [] {
    rusage usage{};
    return ::getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
  };
  const auto before = most_kib();
  EXPECT_EQ(refusal(std::move(layers)).what, "layer '0' reads '1', which comes after it");
  EXPECT_LT(most_kib() - before, 200 * 1024);
}

TEST(LayerGraph, TooManyLayersAreRefused) {
  std::vector<Layer> layers;
  for (int i = 0; i < 10'001; ++i) layers.push_back({std::to_string(i), "relu", {}, {}});
  EXPECT_EQ(refusal(std::move(layers)).what, "the workload 'net' has 10001 layers");
}

TEST(LayerGraph, EveryLayerHasItsOwnSeedWhateverIsBeforeIt) {
  const Result<Network> one = resolve({"net", {2, 6, 6, 3}, {kConv}}, 5);
  Layer second = kConv;
  second.name = "other";
  const Result<Network> two = resolve({"net", {2, 6, 6, 3}, {second, kConv}}, 5);
  EXPECT_EQ(one->layers[0].seed, two->layers[1].seed);
  EXPECT_NE(two->layers[0].seed, two->layers[1].seed);
}

TEST(Fusion, ResNet20BecomesItsConvolutions) {
  const Network merged = fused(*resolve(resnet20(), 0));
  std::map<std::string_view, int> count;
  std::size_t adds = 0, relus = 0;
  for (const NetworkLayer& layer : merged.layers) {
    ++count[layer.kind->name];
    if (layer.kind->name != "conv2d-bn-relu") continue;
    adds += size_of(layer.sizes, "add");
    relus += size_of(layer.sizes, "relu");
    EXPECT_EQ(layer.inputs.size(), 1 + size_of(layer.sizes, "add"));
    EXPECT_TRUE(layer.normalisation_seed.has_value());
  }
  EXPECT_THAT(count, testing::ElementsAre(testing::Pair("average-pool", 1),
                                          testing::Pair("conv2d-bn-relu", 21),
                                          testing::Pair("linear", 1), testing::Pair("reshape", 1)));
  EXPECT_EQ(adds, 2U);
  EXPECT_EQ(relus, 19U);
  for (std::size_t i = 0; i < merged.layers.size(); ++i) {
    for (const std::size_t input : merged.layers[i].inputs) {
      EXPECT_TRUE(input == kNetworkInput || input < i) << merged.layers[i].name;
    }
  }
}

TEST(Fusion, LeavesAloneWhatSomebodyElseReads) {
  const LayerGraph graph{"net",
                         {1, 6, 6, 8},
                         {{"conv", "conv2d", {{"c_out", 8}, {"kernel", 3}, {"stride", 1}}, {}},
                          {"bn", "batchnorm", {}, {}},
                          {"relu", "relu", {}, {}},
                          {"sum", "add", {}, {"relu", "conv"}}}};
  EXPECT_EQ(fused(*resolve(graph, 0)).layers.size(), 4U) << "the convolution is read twice";
  LayerGraph other = graph;
  other.layers[3].inputs = {"relu", "bn"};
  const Network merged = fused(*resolve(other, 0));
  ASSERT_EQ(merged.layers.size(), 3U) << "ReLU and add read the normalisation";
  EXPECT_EQ(size_of(merged.layers[0].sizes, "relu"), 0U);
  EXPECT_EQ(merged.layers[2].inputs, (std::vector<std::size_t>{1, 0}));
}

TEST(Fusion, AConvolutionOverWordsTakesItsPooling) {
  const Network merged = fused(*resolve(
      {"net", {2, 9, 5}, {{"c", "conv1d", {{"k", 2}, {"d_c", 7}}, {}}, {"p", "maxpool", {}, {}}}},
      0));
  ASSERT_EQ(merged.layers.size(), 1U);
  EXPECT_EQ(merged.layers[0].kind->name, "conv1d-maxpool");
  EXPECT_EQ(merged.layers[0].output, (TensorShape{2, 7}));
}

Error parse_refusal(const std::string& text) {
  const TemporaryFile file(text);
  const Result<Network> network = read_network(file.path(), 0);
  EXPECT_FALSE(network.has_value()) << text;
  if (network) return {};
  Error error = network.error();
  const auto at = error.what.find(file.path());
  if (at != std::string::npos) error.what.replace(at, file.path().size(), "FILE");
  return error;
}

TEST(LayerJson, WritingAndReadingGivesTheSameGraph) {
  const LayerGraph graph = resnet20();
  const Result<GraphFile> file = parse_graph(graph_json(graph), "x");
  ASSERT_TRUE(file.has_value()) << file.error().what;
  EXPECT_EQ(file->graph, graph);
}

TEST(LayerJson, AMistakeIsNamedByLineAndKey) {
  const std::string head = "{\"input\": [1, 6, 6, 3],\n \"layers\": [\n";
  EXPECT_EQ(parse_refusal(head + "{\"op\": \"conv2d\",\n\"c_out\": \"16\"}]}").what,
            "line 4 of FILE: \"c_out\" is \"16\", not a whole number");
  EXPECT_EQ(parse_refusal(head + "{\"op\": \"conv2d\",\n\"c_out\":\n-16\n}]}").what,
            "line 5 of FILE: \"c_out\" is -16, not a whole number");
  EXPECT_EQ(
      parse_refusal(head + "{\"op\": \"conv2d\", \"kernel\": 3, \"stride\": 1,\n\"c_out\":\n0\n}]}")
          .what,
      "line 4 of FILE: layer 'conv2d.1': conv2d: c_out=0 is out of range");
  EXPECT_EQ(parse_refusal(head + "{\"name\": \"a\",\n\n\"op\": \"rleu\"}]}").what,
            "line 5 of FILE: layer 'a' has the unknown operation 'rleu'");
  EXPECT_EQ(parse_refusal(head + "{\"op\": \"relu\", \"name\": \"a\"},\n{\"op\": \"relu\",\n"
                                 "\"name\": \"b\",\n\"inputs\": [\"c\"]}]}")
                .what,
            "line 6 of FILE: layer 'b' reads 'c', which is no layer");
  EXPECT_EQ(parse_refusal(head + "{\"op\": \"relu\",\n\"op\": \"relu\"}]}").what,
            "line 4 of FILE: the key \"op\" stands there twice");
  EXPECT_EQ(parse_refusal(head + "{\"name\": \"a\"}]}").what,
            "line 3 of FILE: a layer without \"op\"");
  EXPECT_EQ(parse_refusal("{\"layers\": [{\"op\": \"relu\"}]}").what,
            "line 1 of FILE: there is no \"input\"");
  EXPECT_EQ(parse_refusal("{\"input\": [1],\n\"layesr\": []}").hint, "did you mean layers?");
  EXPECT_EQ(parse_refusal("{\"input\": [1],\n\"layers\": []}").what,
            "line 2 of FILE: \"layers\" is empty");
  EXPECT_EQ(parse_refusal("{\"input\": [1,\n0]}").what, "line 2 of FILE: \"input\" has a 0");
  EXPECT_EQ(parse_refusal("{\"schema\":\n\"hwprof.profile/1\"}").what,
            "line 2 of FILE: the schema is \"hwprof.profile/1\"");
  EXPECT_EQ(parse_refusal("[1]").what, "line 1 of FILE: a workload is an object, with layers");
}

TEST(LayerJson, TheLineOfANumberIsItsOwnEvenAtTheEndOfTheLine) {
  EXPECT_EQ(parse_refusal("{\"input\": [1, 6],\n\"layers\": [{\"op\":\n7\n\n}]}").what,
            "line 3 of FILE: \"op\" is 7, not a text");
}

TEST(LayerJson, WhatIsNoJsonIsNamedByLineAndColumn) {
  EXPECT_THAT(parse_refusal("{\"input\": [1],\n  oops}").what,
              HasSubstr("FILE is no JSON: line 2, column 3: "));
  EXPECT_THAT(parse_refusal("").what, HasSubstr("FILE is no JSON: line 1, column 1: "));
  EXPECT_THAT(parse_refusal("{\"input\": [1]").what, HasSubstr("is no JSON"));
  EXPECT_THAT(parse_refusal("index,layer,seconds\n").what, HasSubstr("is no JSON"));
}

TEST(LayerJson, AMillionLayersAndDeepNestingEndEarly) {
  std::string text = "{\"input\": [1, 4],\n\"layers\": [";
  for (int i = 0; i < 1'000'000; ++i) text += "{\"op\": \"relu\"},\n";
  EXPECT_EQ(parse_refusal(text + "{}]}").what,
            "line 10002 of FILE: more than 10000 items in a list");
  EXPECT_EQ(parse_refusal(std::string(100'000, '[')).what,
            "line 1 of FILE: nested more than 8 deep");
}

}  // namespace
}  // namespace hwprof
