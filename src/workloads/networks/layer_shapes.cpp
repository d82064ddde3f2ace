#include "src/workloads/networks/layer_shapes.h"

#include <algorithm>
#include <limits>

namespace hwprof {
namespace {

using Shape = const TensorShape&;

constexpr std::size_t kAnyRank = 8;

TensorShape unchanged(Shape input, const Sizes&) { return input; }

Sizes map_sizes(Shape x) {
  return {{"pixels", product(x, 1, x.size() - 1)}, {"channels", x.back()}, {"batch", x.front()}};
}
Sizes image_sizes(Shape x) {
  return {{"height", x[1]}, {"width", x[2]}, {"c_in", x[3]}, {"batch", x[0]}};
}
TensorShape convolved(Shape x, const Sizes& sizes) {
  const std::uint64_t stride = size_of(sizes, "stride");
  return {x[0], (x[1] - 1) / stride + 1, (x[2] - 1) / stride + 1, size_of(sizes, "c_out")};
}
Sizes document_sizes(Shape x) { return {{"d_e", x[2]}, {"n", x[1]}, {"batch", x[0]}}; }
Sizes element_count(Shape x) { return {{"count", elements(x)}}; }

constexpr std::string_view kDocuments = "[batch, words, floats of a word]";
constexpr std::string_view kImages = "[batch, height, width, channels]";

constexpr ShapeRule kRules[] = {
    {"conv1d", kDocuments, 3, 3, document_sizes,
     [](Shape x, const Sizes& sizes) {
       return TensorShape{x[0], x[1] - size_of(sizes, "k") + 1, size_of(sizes, "d_c")};
     }},
    {"conv1d-maxpool", kDocuments, 3, 3, document_sizes,
     [](Shape x, const Sizes& sizes) {
       return TensorShape{x[0], size_of(sizes, "d_c")};
     }},
    {"maxpool", "[batch, positions, channels]", 3, 3,
     [](Shape x) {
       return Sizes{{"d_c", x[2]}, {"n", x[1]}, {"k", 1}, {"batch", x[0]}};
     },
     [](Shape x, const Sizes&) {
       return TensorShape{x[0], x[2]};
     }},
    {"linear", "[batch, inputs]", 2, 2,
     [](Shape x) {
       return Sizes{{"d_c", x[1]}, {"batch", x[0]}};
     },
     [](Shape x, const Sizes& sizes) {
       return TensorShape{x[0], size_of(sizes, "l")};
     }},
    {"conv2d", kImages, 4, 4, image_sizes, convolved},
    {"conv2d-bn-relu", kImages, 4, 4, image_sizes, convolved},
    {"batchnorm", "[batch, ..., channels]", 2, kAnyRank, map_sizes, unchanged},
    {"average-pool", "[batch, ..., channels]", 3, kAnyRank, map_sizes,
     [](Shape x, const Sizes&) {
       TensorShape pooled(x.size(), 1);
       pooled.front() = x.front();
       pooled.back() = x.back();
       return pooled;
     }},
    {"relu", "anything", 1, kAnyRank, element_count, unchanged},
    {"add", "two of one shape", 1, kAnyRank, element_count, unchanged},
    {"softmax", "[batch, columns]", 2, 2,
     [](Shape x) {
       return Sizes{{"l", x[1]}, {"batch", x[0]}};
     },
     unchanged},
    {"reshape", "[batch, ...]", 2, kAnyRank, element_count,
     [](Shape x, const Sizes&) {
       return TensorShape{x[0], product(x, 1, x.size())};
     }},
};

}  // namespace

const ShapeRule& shape_rule(std::string_view op) {
  return *std::find_if(std::begin(kRules), std::end(kRules),
                       [op](const ShapeRule& rule) { return rule.op == op; });
}

std::uint64_t product(const TensorShape& shape, std::size_t first, std::size_t last) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t result = 1;
  for (std::size_t i = first; i < last; ++i) {
    if (__builtin_mul_overflow(result, shape[i], &result)) return kMost;
  }
  return result;
}

}  // namespace hwprof
