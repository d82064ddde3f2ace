// The linear layer by hand: the product of kernels/product-inl.h with one row a document.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/linear_simd.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/ops/linear.h"
#include "kernels/product/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

// Many documents are shared out by documents, few by outputs.
void linear_share(const LinearCall& call, std::size_t thread, std::size_t threads) {
  const auto [inputs, outputs] = call.shape;
  const Layout layout(outputs, inputs, true);
  const bool by_documents = call.documents >= threads * kRows[kPanelVectors];
  const auto all = [](std::size_t count) { return std::pair<std::size_t, std::size_t>(0, count); };
  const auto [first, last] =
      by_documents ? share_of(call.documents, thread, threads) : all(call.documents);
  const auto [part, last_part] =
      by_documents ? all(layout.parts()) : share_of(layout.parts(), thread, threads);
  if (first == last || part == last_part) return;
  StoreSink sink(call.z + first * outputs, nullptr, outputs, false);
  multiply<true>(last - first,
                 Rows{.x = call.g + first * inputs, .row_stride = inputs, .depth = inputs}, layout,
                 call.packed, call.c, part, last_part, sink);
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/product/packing.h"

namespace hwprof {

HWY_EXPORT(linear_share);

std::size_t linear_simd_packed_floats(const LinearShape& shape) {
  return product_packed_floats(shape.outputs, shape.inputs);
}

void linear_simd_pack(const LinearShape& shape, const float* a, float* packed) {
  product_pack(shape.outputs, shape.inputs, a, packed);
}

void linear_simd(const LinearCall& call) {
  call.team->run([&](std::size_t thread) {
    HWY_DYNAMIC_DISPATCH(linear_share)(call, thread, call.team->size());
  });
}

}  // namespace hwprof
#endif  // HWY_ONCE
