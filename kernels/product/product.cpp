// The products by hand: conv1d (unfused, and fused with the max over time), the linear layer and
// 2-d convolution. One unit for all, so that the blocks of product-inl.h are compiled once a
// target.
//
// conv1d reads its rows in place: position n is k d_e contiguous floats from x + n d_e on, which a
// product with overlapping rows takes as it is. A linear layer has one row a document.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/product.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/ops/conv1d.h"
#include "kernels/ops/linear.h"
#include "kernels/product/conv2d-inl.h"
#include "kernels/product/product-inl.h"
#include "kernels/thread_team.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

// The packed weights: in the order in which the blocks read them (Layout), made once.

std::size_t packed_floats(std::size_t columns, std::size_t depth, std::size_t positions) {
  return Layout(columns, depth, positions).floats();
}

// One panel of `width` columns from `column` on, [depth][width], zeros beyond `columns`.
float* pack_panel(std::size_t column, std::size_t width, std::size_t columns, std::size_t depth,
                  const float* w, float* packed) {
  for (std::size_t d = 0; d < depth; ++d) {
    for (std::size_t j = column; j < column + width; ++j) {
      *packed++ = j < columns ? w[j * depth + d] : 0.0f;
    }
  }
  return packed;
}

#if HWPROF_HAS_DOTS
// Columns first .. last as dot products (Layout). The last step ends with the depth and overlaps
// the one before.
float* pack_dots(std::size_t first, std::size_t last, const Layout& layout, const float* w,
                 float* packed) {
  const std::size_t depth = layout.dot_depth, rest = depth % kLanes;
  const std::size_t most = layout.window > 1 ? kWindows[last - first].positions : 1;
  const auto vector = [&](std::size_t column, std::size_t position, std::size_t step) {
    const bool overlaps = (step + 1) * kLanes > depth;
    const std::size_t from = position * depth + (overlaps ? depth - kLanes : step * kLanes);
    const std::size_t taken = overlaps ? kLanes - rest : 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      *packed++ = i >= taken ? w[column * layout.depth + from + i] : 0.0f;
    }
  };
  for (std::size_t position = 0; position < layout.window; position += most) {
    const std::size_t end = HWY_MIN(position + most, layout.window);
    for (std::size_t step = 0; step * kLanes < depth; ++step) {
      for (std::size_t p = position; p < end; ++p) {
        for (std::size_t c = first; c < last; ++c) vector(c, p, step);
      }
    }
  }
  return packed;
}
#endif

void pack(std::size_t columns, std::size_t depth, std::size_t positions, const float* w,
          float* packed) {
  const Layout layout(columns, depth, positions);
  for (std::size_t p = 0; p < layout.full; ++p) {
    packed = pack_panel(p * kPanelColumns, kPanelColumns, columns, depth, w, packed);
  }
  packed =
      pack_panel(layout.rest_column(), layout.rest_vectors * kLanes, columns, depth, w, packed);
#if HWPROF_HAS_DOTS
  for (std::size_t group = 0; group < layout.dot_groups(); ++group) {
    const auto [first, last] = layout.dot_group(group);
    packed = pack_dots(layout.dot_column() + first, layout.dot_column() + last, layout, w, packed);
  }
#endif
}

// Columns that the parts before `part` work on, zeros that fill them up included.
HWY_INLINE std::size_t cost_before(const Layout& layout, std::size_t part) {
  if (part <= layout.full) return part * kPanelColumns;
  const bool dots_too = layout.dot_columns != 0 && part == layout.parts();
  return layout.rest_column() + layout.rest_vectors * kLanes + (dots_too ? layout.dot_columns : 0);
}

// Convolution of this thread's units. `sink_of(b, one_each)` makes the sink of document b, or of
// the documents from b on that have one position each: these are the rows of one product, since a
// row alone would read all weights for one use each. (Not where rows overlap in windows.)
template <class SinkOf>
HWY_INLINE void convolve_share(const Conv1dInput& input, std::size_t thread,
                               const SinkOf& sink_of) {
  const auto [k, d_e, d_c] = input.shape;
  const std::size_t depth = k * d_e;
  const Layout layout(d_c, depth, k);
  struct Run {
    std::size_t begin, end, first_part, last_part;
  } run = {};
  const auto finish = [&, d_e = d_e]() HWY_ATTR {
    const std::size_t documents = run.end - run.begin;
    if (documents == 0) return;
    const bool one_each = documents > 1;
    Sink sink = sink_of(run.begin, one_each);
    multiply(
        true, one_each ? documents : input.positions(run.begin),
        Rows{.x = input.document(run.begin), .row_stride = one_each ? depth : d_e, .depth = depth},
        layout, input.packed, input.bias, run.first_part, run.last_part, sink);
  };
  for_each_share(
      input, layout.parts(), [&](std::size_t part) HWY_ATTR { return cost_before(layout, part); },
      thread, input.team->size(),
      [&](std::size_t b, std::size_t first, std::size_t last) HWY_ATTR {
        const auto one = [&](std::size_t document) { return input.positions(document) == 1; };
        if (layout.window == 1 && run.end == b && b != 0 && one(b - 1) && one(b) &&
            run.first_part == first && run.last_part == last) {
          ++run.end;
          return;
        }
        finish();
        run = {b, b + 1, first, last};
      });
  finish();
}

void conv1d_share(const Conv1dCall& call, std::size_t thread) {
  convolve_share(call.input, thread, [&](std::size_t b, bool /*one_each*/) HWY_ATTR {
    return Sink::stored(call.output(b), nullptr, call.input.shape.d_c, true);
  });
}

// Of the feature map only the largest so far is kept, in 32 columns of the L1 cache; of one
// position there is no map.
void conv1d_maxpool_share(const Conv1dMaxpoolCall& call, std::size_t thread) {
  convolve_share(call.input, thread, [&](std::size_t b, bool one_each) HWY_ATTR {
    if (one_each) return Sink::stored(call.output(b), nullptr, call.g_stride, true);
    return Sink::largest(call.output(b));
  });
}

// Many documents are shared out by documents, few by outputs.
void linear_share(const LinearCall& call, std::size_t thread, std::size_t threads) {
  const auto [inputs, outputs] = call.shape;
  const Layout layout(outputs, inputs, 1);
  const bool by_documents = call.documents >= threads * kRows[kPanelVectors];
  const auto all = [](std::size_t count) { return std::pair<std::size_t, std::size_t>(0, count); };
  const auto [first, last] =
      by_documents ? share_of(call.documents, thread, threads) : all(call.documents);
  const auto [part, last_part] =
      by_documents ? all(layout.parts()) : share_of(layout.parts(), thread, threads);
  if (first == last || part == last_part) return;
  Sink sink = Sink::stored(call.z + first * outputs, nullptr, outputs, false);
  multiply(true, last - first,
           Rows{.x = call.g + first * inputs, .row_stride = inputs, .depth = inputs}, layout,
           call.packed, call.c, part, last_part, sink);
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <vector>

namespace hwprof {
namespace {

// HWY_DYNAMIC_DISPATCH is called in place and its pointer never kept: before the first call it
// points at the code that asks CPUID, which in a VM costs microseconds every time.
HWY_EXPORT(packed_floats);
HWY_EXPORT(pack);
HWY_EXPORT(conv1d_share);
HWY_EXPORT(conv1d_maxpool_share);
HWY_EXPORT(linear_share);
HWY_EXPORT(conv2d_share);

// Floats of the packed form of w: [columns, depth] row-major; `positions`: as Layout has it.
std::size_t packed_size(std::size_t columns, std::size_t depth, std::size_t positions) {
  return HWY_DYNAMIC_DISPATCH(packed_floats)(columns, depth, positions);
}
void pack_weights(std::size_t columns, std::size_t depth, std::size_t positions, const float* w,
                  float* packed) {
  HWY_DYNAMIC_DISPATCH(pack)(columns, depth, positions, w, packed);
}

}  // namespace

std::size_t conv1d_simd_packed_floats(const Conv1dShape& shape) {
  return packed_size(shape.d_c, shape.k * shape.d_e, shape.k);
}

void conv1d_simd_pack(const Conv1dShape& shape, const float* w, float* packed) {
  pack_weights(shape.d_c, shape.k * shape.d_e, shape.k, w, packed);
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

std::size_t linear_simd_packed_floats(const LinearShape& shape) {
  return packed_size(shape.outputs, shape.inputs, 1);
}

void linear_simd_pack(const LinearShape& shape, const float* a, float* packed) {
  pack_weights(shape.outputs, shape.inputs, 1, a, packed);
}

void linear_simd(const LinearCall& call) {
  call.team->run([&](std::size_t thread) {
    HWY_DYNAMIC_DISPATCH(linear_share)(call, thread, call.team->size());
  });
}

// Packed: the panels, then the bias (zeros where there is none).
std::size_t conv2d_simd_packed_floats(const Conv2dShape& shape) {
  return packed_size(shape.c_out, shape.depth(), 0) + shape.c_out;
}

void conv2d_simd_pack(const Conv2dShape& shape, const float* w, float* packed) {
  pack_weights(shape.c_out, shape.depth(), 0, w, packed);
  std::fill_n(packed + packed_size(shape.c_out, shape.depth(), 0), shape.c_out, 0.0f);
}

std::size_t conv2d_bn_relu_packed_floats(const Conv2dShape& shape) {
  return conv2d_simd_packed_floats(shape);
}

void conv2d_bn_relu_pack(const Conv2dShape& shape, const Conv2dWeights& weights, float* packed) {
  const std::size_t depth = shape.depth();
  std::vector<float> folded(weights.w, weights.w + shape.c_out * depth);
  float* bias = packed + packed_size(shape.c_out, depth, 0);
  for (std::size_t j = 0; j < shape.c_out; ++j) {
    const Affine affine = batchnorm_affine(weights.bn, j);
    for (std::size_t d = 0; d < depth; ++d) folded[j * depth + d] *= affine.scale;
    bias[j] = affine.shift;
  }
  pack_weights(shape.c_out, depth, 0, folded.data(), packed);
}

void conv2d_simd(const Conv2dCall& call) {
  const Conv2dWork work{call.shape, call.images, call.x, call.packed, nullptr, false, call.y};
  call.team->run([&](std::size_t thread) {
    HWY_DYNAMIC_DISPATCH(conv2d_share)(work, thread, call.team->size());
  });
}

void conv2d_bn_relu_fused(const Conv2dBnReluCall& call) {
  const Conv2dWork work{call.shape,  call.images, call.x, call.packed,
                        call.addend, call.relu,   call.y};
  call.team->run([&](std::size_t thread) {
    HWY_DYNAMIC_DISPATCH(conv2d_share)(work, thread, call.team->size());
  });
}

}  // namespace hwprof
#endif  // HWY_ONCE
