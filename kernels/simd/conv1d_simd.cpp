// conv1d by hand: unfused, and fused with the max over time. Rows are read in place: position n is
// k d_e contiguous floats from x + n d_e on, which a product with overlapping rows takes as it is.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/conv1d_simd.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/ops/conv1d.h"
#include "kernels/ops/conv1d_maxpool.h"
#include "kernels/product/documents-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

void conv1d_share(const Conv1dCall& call, std::size_t thread) {
  convolve_share(call.input, thread, [&](std::size_t b) HWY_ATTR {
    return StoreSink(call.output(b), nullptr, call.input.shape.d_c, true);
  });
}

// Of the feature map only the largest so far is kept, in 32 columns of the L1 cache.
void conv1d_maxpool_share(const Conv1dMaxpoolCall& call, std::size_t thread) {
  convolve_share(call.input, thread,
                 [&](std::size_t b) HWY_ATTR { return MaxSink(call.output(b)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/product/packing.h"

namespace hwprof {

// HWY_DYNAMIC_DISPATCH is called in place and its pointer never kept: before the first call it
// points at the code that asks CPUID, which in a VM costs microseconds every time.
HWY_EXPORT(conv1d_share);
HWY_EXPORT(conv1d_maxpool_share);

std::size_t conv1d_simd_packed_floats(const Conv1dShape& shape) {
  return product_packed_floats(shape.d_c, shape.k * shape.d_e);
}

void conv1d_simd_pack(const Conv1dShape& shape, const float* w, float* packed) {
  product_pack(shape.d_c, shape.k * shape.d_e, w, packed);
}

void conv1d_simd(const Conv1dCall& call) {
  call.input.team->run([&](std::size_t thread) {
    HWY_DYNAMIC_DISPATCH(conv1d_share)(call, thread);
  });
}

void conv1d_maxpool_fused(const Conv1dMaxpoolCall& call) {
  call.input.team->run([&](std::size_t thread) {
    HWY_DYNAMIC_DISPATCH(conv1d_maxpool_share)(call, thread);
  });
}

}  // namespace hwprof
#endif  // HWY_ONCE
