// The hand-written variants, one source for every vector width (kernels/simd_targets.h).
//
// Convolution and linear layer are the same product: R rows of x, each `depth` long, `row_stride`
// apart, times a panel of two vectors of outputs. For the convolution the rows overlap, which a
// hand-written kernel may read in place. Weights are packed once in panels [depth][2 vectors], so
// that the inner loop reads them in order.
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cpp"
#include "kernels/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/conv1d.h"
#include "kernels/linear.h"
#include "kernels/maxpool.h"
#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// Rows a register block: 2 accumulators a row, 2 vectors of weights and 1 of x must fit the
// registers. 13 x 2 + 3 of 32 (AVX-512), 12 x 2 + 3 of 32 (Neon), 6 x 2 + 3 of 16 (the others).
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kRows = 13;
#elif HWY_TARGET == HWY_NEON
constexpr std::size_t kRows = 12;
#else
constexpr std::size_t kRows = 6;
#endif
constexpr std::size_t kMaxPanel = 2 * HWY_MAX_BYTES / sizeof(float);

std::size_t panel_columns() { return 2 * hn::Lanes(Tag()); }

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

// Keeps a NaN, which Max(v, 0) would lose on x86.
template <bool kRelu>
HWY_INLINE Vec activate(Vec v) {
  if constexpr (kRelu) {
    const Vec zero = hn::Zero(Tag());
    return hn::IfThenElse(hn::Lt(v, zero), zero, v);
  }
  return v;
}

// out[r][0 .. columns) = activate(bias + x[r] * panel), columns <= panel_columns().
template <std::size_t kBlock, bool kRelu>
HWY_INLINE void block(const float* HWY_RESTRICT x, std::size_t row_stride, std::size_t depth,
                      const float* HWY_RESTRICT panel, const float* HWY_RESTRICT bias,
                      float* HWY_RESTRICT out, std::size_t out_stride, std::size_t columns) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vec low[kBlock], high[kBlock];
  for (std::size_t r = 0; r < kBlock; ++r) {
    low[r] = hn::LoadU(tag, bias);
    high[r] = hn::LoadU(tag, bias + lanes);
  }
  for (std::size_t d = 0; d < depth; ++d) {
    const Vec w_low = hn::LoadU(tag, panel), w_high = hn::LoadU(tag, panel + lanes);
    panel += 2 * lanes;
    for (std::size_t r = 0; r < kBlock; ++r) {
      const Vec value = hn::Set(tag, x[r * row_stride + d]);
      low[r] = hn::MulAdd(value, w_low, low[r]);
      high[r] = hn::MulAdd(value, w_high, high[r]);
    }
  }
  for (std::size_t r = 0; r < kBlock; ++r) {
    float* to = out + r * out_stride;
    const Vec first = activate<kRelu>(low[r]), second = activate<kRelu>(high[r]);
    if (HWY_LIKELY(columns == 2 * lanes)) {
      hn::StoreU(first, tag, to);
      hn::StoreU(second, tag, to + lanes);
    } else {
      HWY_ALIGN float both[kMaxPanel];
      hn::Store(first, tag, both);
      hn::Store(second, tag, both + lanes);
      for (std::size_t j = 0; j < columns; ++j) to[j] = both[j];
    }
  }
}

// The block of `rows` <= kBlock rows, known only at run time.
template <std::size_t kBlock, bool kRelu, class... Args>
HWY_INLINE void block_of(std::size_t rows, Args... args) {
  if constexpr (kBlock > 0) {
    if (rows == kBlock) {
      block<kBlock, kRelu>(args...);
    } else {
      block_of<kBlock - 1, kRelu>(rows, args...);
    }
  }
}

// Rows are split in equal blocks: a ragged last block would waste up to a tenth of the time.
template <bool kRelu>
void multiply(const SimdProduct& product) {
  const std::size_t columns_per_panel = panel_columns();
  const std::size_t blocks = (product.rows + kRows - 1) / kRows;
  HWY_ALIGN float bias[kMaxPanel];
  for (std::size_t column = 0; column < product.columns; column += columns_per_panel) {
    const std::size_t columns = HWY_MIN(columns_per_panel, product.columns - column);
    for (std::size_t j = 0; j < columns_per_panel; ++j) {
      bias[j] = j < columns ? product.bias[column + j] : 0.0f;
    }
    const float* panel = product.packed + column * product.depth;
    for (std::size_t q = 0; q < blocks; ++q) {
      const auto [row, end] = share_of(product.rows, q, blocks);
      block_of<kRows, kRelu>(
          end - row, product.x + row * product.row_stride, product.row_stride, product.depth, panel,
          bias, product.out + row * product.columns + column, product.columns, columns);
    }
  }
}

void multiply_relu(const SimdProduct& product) { multiply<true>(product); }
void multiply_plain(const SimdProduct& product) { multiply<false>(product); }

// g[0 .. d_c) = max over rows of h: [rows, d_c]. Four vectors at a time, so that each row is read
// in whole cache lines and four chains hide the latency of max.
void max_rows(const float* HWY_RESTRICT h, std::size_t rows, std::size_t d_c,
              float* HWY_RESTRICT g) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  constexpr std::size_t kVectors = 4;
  const auto larger = [](Vec value, Vec best) HWY_ATTR {
    return hn::IfThenElse(hn::Or(hn::Gt(value, best), hn::IsNaN(value)), value, best);
  };
  std::size_t j = 0;
  for (; j + kVectors * lanes <= d_c; j += kVectors * lanes) {
    Vec best[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) best[v] = hn::LoadU(tag, h + j + v * lanes);
    for (std::size_t p = 1; p < rows; ++p) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        best[v] = larger(hn::LoadU(tag, h + p * d_c + j + v * lanes), best[v]);
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], tag, g + j + v * lanes);
  }
  for (; j + lanes <= d_c; j += lanes) {
    Vec best = hn::LoadU(tag, h + j);
    for (std::size_t p = 1; p < rows; ++p) best = larger(hn::LoadU(tag, h + p * d_c + j), best);
    hn::StoreU(best, tag, g + j);
  }
  for (; j < d_c; ++j) {
    float best = h[j];
    for (std::size_t p = 1; p < rows; ++p) {
      const float value = h[p * d_c + j];
      if (value > best || value != value) best = value;
    }
    g[j] = best;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

namespace hwprof {
namespace {

// HWY_DYNAMIC_DISPATCH is called in place and its pointer never kept: before the first call it
// points at the code that asks CPUID, which in a VM costs microseconds every time.
HWY_EXPORT(panel_columns);
HWY_EXPORT(target_name);
HWY_EXPORT(multiply_relu);
HWY_EXPORT(multiply_plain);
HWY_EXPORT(max_rows);

std::size_t packed_floats(std::size_t columns, std::size_t depth) {
  const std::size_t panel = HWY_DYNAMIC_DISPATCH(panel_columns)();
  return (columns + panel - 1) / panel * panel * depth;
}

// w: [columns, depth] row-major -> panels [depth][panel], the last one filled up with zeros.
void pack(const float* w, std::size_t columns, std::size_t depth, float* packed) {
  const std::size_t panel = HWY_DYNAMIC_DISPATCH(panel_columns)();
  for (std::size_t column = 0; column < columns; column += panel) {
    for (std::size_t d = 0; d < depth; ++d) {
      for (std::size_t j = 0; j < panel; ++j) {
        *packed++ = column + j < columns ? w[(column + j) * depth + d] : 0.0f;
      }
    }
  }
}

}  // namespace

std::string simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

std::size_t conv1d_simd_packed_floats(const Conv1dShape& shape) {
  return packed_floats(shape.d_c, shape.k * shape.d_e);
}

void conv1d_simd_pack(const Conv1dShape& shape, const float* w, float* packed) {
  pack(w, shape.d_c, shape.k * shape.d_e, packed);
}

void conv1d_simd(const Conv1dCall& call) {
  call.team->run([&](std::size_t thread) {
    const auto [first, last] = share_of(call.documents(), thread, call.team->size());
    for (std::size_t b = first; b < last; ++b) {
      HWY_DYNAMIC_DISPATCH(multiply_relu)
      ({.x = call.document(b),
        .row_stride = call.shape.d_e,
        .rows = call.positions(b),
        .depth = call.shape.k * call.shape.d_e,
        .packed = call.packed,
        .bias = call.bias,
        .columns = call.shape.d_c,
        .out = call.output(b)});
    }
  });
}

void maxpool_simd(const MaxpoolCall& call) {
  call.team->run([&](std::size_t thread) {
    const auto [first, last] = share_of(call.documents(), thread, call.team->size());
    for (std::size_t b = first; b < last; ++b) {
      HWY_DYNAMIC_DISPATCH(max_rows)
      (call.h + call.start[b] * call.d_c, call.start[b + 1] - call.start[b], call.d_c,
       call.g + b * call.g_stride);
    }
  });
}

std::size_t linear_simd_packed_floats(const LinearShape& shape) {
  return packed_floats(shape.outputs, shape.inputs);
}

void linear_simd_pack(const LinearShape& shape, const float* a, float* packed) {
  pack(a, shape.outputs, shape.inputs, packed);
}

void linear_simd(const LinearCall& call) {
  call.team->run([&](std::size_t thread) {
    const auto [first, last] = share_of(call.documents, thread, call.team->size());
    if (first == last) return;
    HWY_DYNAMIC_DISPATCH(multiply_plain)
    ({.x = call.g + first * call.shape.inputs,
      .row_stride = call.shape.inputs,
      .rows = last - first,
      .depth = call.shape.inputs,
      .packed = call.packed,
      .bias = call.c,
      .columns = call.shape.outputs,
      .out = call.z + first * call.shape.outputs});
  });
}

}  // namespace hwprof
#endif  // HWY_ONCE
