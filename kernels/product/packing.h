// Weights in the order in which the hand-written products read them (kernels/panel-inl.h), made
// once for the instruction set that is in use.
#pragma once

#include <cstddef>

namespace hwprof {

// Floats of the packed form of w: [columns, depth] row-major.
std::size_t product_packed_floats(std::size_t columns, std::size_t depth);
void product_pack(std::size_t columns, std::size_t depth, const float* w, float* packed);

// The same for products whose rows come in several segments (2-d convolution).
std::size_t segmented_packed_floats(std::size_t columns, std::size_t depth);
void segmented_pack(std::size_t columns, std::size_t depth, const float* w, float* packed);

}  // namespace hwprof
