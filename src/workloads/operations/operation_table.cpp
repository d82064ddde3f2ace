// The operations as data: sizes with their standard, variants, and who builds them. Sizes have the
// names of the course where it has one, so that a sweep in l and d_c reads as its analysis does.
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kMost = SizeParameter{}.most;

constexpr SizeParameter kConv1d[] = {{"k", 2},
                                     {"d_e", 300, 1, kMost, true},
                                     {"d_c", 128},
                                     {"n", 124, 1, kMost, true},
                                     {"batch", 64, 1, kMost, true}};
// Of a feature map with n - k + 1 positions.
constexpr SizeParameter kMaxpool[] = {{"d_c", 128, 1, kMost, true},
                                      {"n", 124, 1, kMost, true},
                                      {"k", 2, 1, kMost, true},
                                      {"batch", 64, 1, kMost, true}};
constexpr SizeParameter kLinear[] = {
    {"d_c", 128, 1, kMost, true}, {"l", 103}, {"batch", 64, 1, kMost, true}};
constexpr SizeParameter kConv2d[] = {{"height", 32, 1, kMost, true}, {"width", 32, 1, kMost, true},
                                     {"c_in", 16, 1, kMost, true},   {"c_out", 16},
                                     {"kernel", 3, 1, 255},          {"stride", 1},
                                     {"batch", 1, 1, kMost, true}};
constexpr SizeParameter kConv2dBnRelu[] = {{"height", 32, 1, kMost, true},
                                           {"width", 32, 1, kMost, true},
                                           {"c_in", 16, 1, kMost, true},
                                           {"c_out", 16},
                                           {"kernel", 3, 1, 255},
                                           {"stride", 1},
                                           {"batch", 1, 1, kMost, true},
                                           {"relu", 1, 0, 1},
                                           {"add", 0, 0, 1}};
// Of a map: what average-pool and batchnorm do not tell apart is one number.
constexpr SizeParameter kMap[] = {{"pixels", 1024, 1, kMost, true},
                                  {"channels", 16, 1, kMost, true},
                                  {"batch", 1, 1, kMost, true}};
constexpr SizeParameter kElements[] = {{"count", 16384, 1, kMost, true}};
constexpr SizeParameter kSoftmax[] = {{"l", 103, 1, kMost, true}, {"batch", 64, 1, kMost, true}};

template <auto table>
std::vector<std::string_view> names() {
  std::vector<std::string_view> found;
  for (const auto& variant : table()) found.push_back(variant.name);
  return found;
}

std::vector<std::string_view> view() { return {"view"}; }

// As Chainer's TimerHook calls them; what Chainer does not have is named in its manner.
constexpr OperationKind kKinds[] = {
    {"conv1d", "ConvolutionND", kConv1d, names<conv1d_variants>, build_conv1d},
    {"conv1d-maxpool", "FusedConvolutionND", kConv1d, names<conv1d_maxpool_variants>,
     build_conv1d_maxpool},
    {"maxpool", "MaxPoolingND", kMaxpool, names<maxpool_variants>, build_maxpool},
    {"linear", "LinearFunction", kLinear, names<linear_variants>, build_linear},
    {"conv2d", "Convolution2DFunction", kConv2d, names<conv2d_variants>, build_conv2d},
    {"conv2d-bn-relu", "FusedConvolution2D", kConv2dBnRelu, names<conv2d_bn_relu_variants>,
     build_conv2d_bn_relu},
    {"batchnorm", "BatchNormalization", kMap, names<batchnorm_variants>, build_batchnorm},
    {"relu", "ReLU", kElements, names<relu_variants>, build_relu},
    {"add", "Add", kElements, names<add_variants>, build_add},
    {"average-pool", "AveragePooling2D", kMap, names<average_pool_variants>, build_average_pool},
    {"softmax", "Softmax", kSoftmax, names<softmax_variants>, build_softmax},
    {"reshape", "Reshape", kElements, view, build_reshape},
};

}  // namespace

std::span<const OperationKind> operation_kinds() { return kKinds; }

}  // namespace hwprof
