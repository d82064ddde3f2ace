// A batch of documents for the tests of conv1d, fused or not: all inputs guarded by NaN.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "kernels/ops/conv1d.h"
#include "kernels/thread_team.h"
#include "tests/kernel_data.h"

namespace hwprof {

struct Conv1dData {
  // Documents of `lengths` rows.
  Conv1dData(Conv1dShape shape, const std::vector<std::size_t>& lengths, std::size_t misalignment)
      : shape(shape), row_start{0}, longest(*std::max_element(lengths.begin(), lengths.end())) {
    for (const std::size_t length : lengths) row_start.push_back(row_start.back() + length);
    std::mt19937 random(42);
    x = GuardedFloats::random(row_start.back() * shape.d_e, random, misalignment);
    w = GuardedFloats::random(shape.d_c * shape.k * shape.d_e, random, misalignment + 1);
    bias = GuardedFloats::random(shape.d_c, random, misalignment + 2);
  }

  // What `variant` makes of the weights; nothing where it takes them as they are.
  template <class Variant>
  [[nodiscard]] GuardedFloats packed_for(const Variant& variant) const {
    if (variant.pack == nullptr) return GuardedFloats(0);
    GuardedFloats packed(variant.packed_floats(shape));
    variant.pack(shape, w.data(), packed.data());
    return packed;
  }

  [[nodiscard]] Conv1dInput input(const GuardedFloats& packed, ThreadTeam& team) const {
    return {.shape = shape,
            .row_start = row_start,
            .x = x.data(),
            .w = w.data(),
            .packed = packed.data(),
            .bias = bias.data(),
            .team = &team};
  }

  [[nodiscard]] std::size_t documents() const { return row_start.size() - 1; }
  [[nodiscard]] std::size_t positions() const {
    return row_start.back() - documents() * (shape.k - 1);
  }

  Conv1dShape shape;
  std::vector<std::size_t> row_start;
  std::size_t longest;
  GuardedFloats x{0}, w{0}, bias{0};
};

}  // namespace hwprof
