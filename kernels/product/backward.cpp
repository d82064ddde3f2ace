// What training adds to the forward pass, by hand: both gradients of the linear layer are products
// out[r, c] = sum_k a[r, k] b[k, c] whose b has its columns side by side as it is, so that nothing
// is packed: weights and activations change every step. The register block is that of
// kernels/product/panel-inl.h, with vectors of b in the place of the panel.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/backward.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstddef>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/linear.h"
#include "kernels/product/panel-inl.h"
#include "kernels/thread_team.h"

#ifndef HWPROF_KERNELS_BACKWARD_ONCE
#define HWPROF_KERNELS_BACKWARD_ONCE
namespace hwprof {

// a(r, k) is a[r * row_step + k * depth_step]; rows of b and out are `columns` floats.
struct BackwardProduct {
  const float* a;
  std::size_t row_step, depth_step, depth;
  const float* b;
  std::size_t columns;
  float* out;
};

}  // namespace hwprof
#endif

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

template <std::size_t kBlock, std::size_t kVectors>
HWY_INLINE void product_block(const BackwardProduct& p, std::size_t row, std::size_t column) {
  const Tag tag;
  Vec sum[kBlock][kVectors];
  HWPROF_UNROLL
  for (std::size_t r = 0; r < kBlock; ++r) {
    HWPROF_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(tag);
  }
  const float* HWY_RESTRICT a = p.a + row * p.row_step;
  const float* HWY_RESTRICT b = p.b + column;
  for (std::size_t k = 0; k < p.depth; ++k, a += p.depth_step, b += p.columns) {
    Vec values[kVectors];
    HWPROF_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) values[v] = hn::LoadU(tag, b + v * kLanes);
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      const Vec factor = hn::Set(tag, a[r * p.row_step]);
      HWPROF_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(factor, values[v], sum[r][v]);
      }
    }
  }
  HWPROF_UNROLL
  for (std::size_t r = 0; r < kBlock; ++r) {
    HWPROF_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], tag, p.out + (row + r) * p.columns + column + v * kLanes);
    }
  }
}

template <std::size_t kBlock>
HWY_INLINE void product_block_of(std::size_t rows, std::size_t vectors, const BackwardProduct& p,
                                 std::size_t row, std::size_t column) {
  if constexpr (kBlock > 0) {
    if (rows != kBlock) return product_block_of<kBlock - 1>(rows, vectors, p, row, column);
    if (vectors == 2) return product_block<kBlock, 2>(p, row, column);
    product_block<kBlock, 1>(p, row, column);
  }
}

// Rows [first, last) of the product. Columns outside, so that the two vectors of b that a block
// reads at each depth stay in the L1 cache for all rows. The last vector ends with the row and
// overlaps the one before: what both write is the same.
void product_rows(const BackwardProduct& p, std::size_t first, std::size_t last) {
  const auto rows_at = [&](std::size_t column, std::size_t vectors) HWY_ATTR {
    const std::size_t rows = last - first, most = kRows[kPanelVectors];
    const std::size_t blocks = (rows + most - 1) / most;
    for (std::size_t q = 0; q < blocks; ++q) {
      const auto [begin, end] = share_of(rows, q, blocks);
      product_block_of<kRows[kPanelVectors]>(end - begin, vectors, p, first + begin, column);
    }
  };
  std::size_t column = 0;
  for (; column + 2 * kLanes <= p.columns; column += 2 * kLanes) rows_at(column, 2);
  for (; column + kLanes <= p.columns; column += kLanes) rows_at(column, 1);
  if (column == p.columns) return;
  if (p.columns >= kLanes) return rows_at(p.columns - kLanes, 1);
  for (std::size_t r = first; r < last; ++r) {
    for (std::size_t c = 0; c < p.columns; ++c) {
      float sum = 0;
      for (std::size_t k = 0; k < p.depth; ++k) {
        sum += p.a[r * p.row_step + k * p.depth_step] * p.b[k * p.columns + c];
      }
      p.out[r * p.columns + c] = sum;
    }
  }
}

void relu_backward_share(const ReluBackwardCall& call, std::size_t first, std::size_t last) {
  const Tag tag;
  std::size_t i = first;
  for (; i + kLanes <= last; i += kLanes) {
    const auto alive = hn::Gt(hn::LoadU(tag, call.y + i), hn::Zero(tag));
    hn::StoreU(hn::IfThenElseZero(alive, hn::LoadU(tag, call.dy + i)), tag, call.dx + i);
  }
  for (; i < last; ++i) call.dx[i] = call.y[i] > 0 ? call.dy[i] : 0;
}

void sgd_share(const SgdCall& call, std::size_t first, std::size_t last) {
  const Tag tag;
  const Vec keep = hn::Set(tag, call.keep()), rate = hn::Set(tag, call.rate());
  std::size_t i = first;
  for (; i + kLanes <= last; i += kLanes) {
    const Vec kept = hn::Mul(keep, hn::LoadU(tag, call.w + i));
    hn::StoreU(hn::NegMulAdd(rate, hn::LoadU(tag, call.gradient + i), kept), tag, call.w + i);
  }
  for (; i < last; ++i) call.w[i] = call.keep() * call.w[i] - call.rate() * call.gradient[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hwprof {
namespace {

HWY_EXPORT(product_rows);
HWY_EXPORT(relu_backward_share);
HWY_EXPORT(sgd_share);

}  // namespace

void linear_grad_weights_simd(const LinearGradWeightsCall& call) {
  const std::size_t inputs = call.shape.inputs, outputs = call.shape.outputs;
  const BackwardProduct product{.a = call.dz,
                                .row_step = 1,
                                .depth_step = outputs,
                                .depth = call.documents,
                                .b = call.g,
                                .columns = inputs,
                                .out = call.da};
  split(call.team, outputs, [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(product_rows)(product, first, last);
    for (std::size_t j = first; j < last; ++j) call.dc[j] = 0;
    for (std::size_t b = 0; b < call.documents; ++b) {
      for (std::size_t j = first; j < last; ++j) call.dc[j] += call.dz[b * outputs + j];
    }
  });
}

void linear_grad_input_simd(const LinearGradInputCall& call) {
  const BackwardProduct product{.a = call.dz,
                                .row_step = call.shape.outputs,
                                .depth_step = 1,
                                .depth = call.shape.outputs,
                                .b = call.a,
                                .columns = call.shape.inputs,
                                .out = call.dg};
  split(call.team, call.documents, [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(product_rows)(product, first, last);
  });
}

void relu_backward_simd(const ReluBackwardCall& call) {
  split(call.count, call, HWY_DYNAMIC_DISPATCH(relu_backward_share));
}

void sgd_simd(const SgdCall& call) { split(call.count, call, HWY_DYNAMIC_DISPATCH(sgd_share)); }

}  // namespace hwprof
#endif  // HWY_ONCE
