// What an operation makes of the shape that it reads: the sizes that follow from it, and the shape
// of the result.
#pragma once

#include <optional>
#include <string_view>

#include "src/workloads/networks/layer_graph.h"

namespace hwprof {

struct ShapeRule {
  std::string_view op;
  std::string_view reads;  // for the message: "[batch, height, width, channels]"
  std::size_t least_rank, most_rank;
  Sizes (*sizes)(const TensorShape& input);
  TensorShape (*output)(const TensorShape& input, const Sizes& sizes);
};

const ShapeRule& shape_rule(std::string_view op);

// Saturates: a product that no machine can hold stays too large.
std::uint64_t product(const TensorShape& shape, std::size_t first, std::size_t last);
inline std::uint64_t elements(const TensorShape& shape) { return product(shape, 0, shape.size()); }

}  // namespace hwprof
