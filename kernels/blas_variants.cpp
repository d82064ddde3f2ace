// The layers as a user of BLAS writes them. The library splits the products over its own threads;
// what stands around them (copies, bias, ReLU) runs in the caller, as in such programs.
#include <algorithm>
#include <cstdint>

#include "kernels/blas_library.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/conv2d.h"
#include "kernels/ops/linear.h"

namespace hwprof {
namespace {

using Int = BlasLibrary::Int;

Int as_int(std::size_t count) { return static_cast<Int>(count); }

// The bias goes in first and the products are added with beta = 1: one pass over h less than
// adding it afterwards.
void fill_rows(const float* row, std::size_t rows, std::size_t columns, float* out) {
  for (std::size_t r = 0; r < rows; ++r) std::copy_n(row, columns, out + r * columns);
}

void relu(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < 0 ? 0 : values[i];
}

}  // namespace

std::size_t conv1d_im2col_scratch(const Conv1dShape& shape, std::size_t longest) {
  return (longest - shape.k + 1) * shape.k * shape.d_e;
}

void conv1d_im2col(const Conv1dInput& input, std::size_t b, float* patches) {
  const std::size_t patch = input.shape.k * input.shape.d_e;
  for (std::size_t n = 0; n < input.positions(b); ++n) {
    std::copy_n(input.document(b) + n * input.shape.d_e, patch, patches + n * patch);
  }
}

void conv1d_blas_im2col(const Conv1dCall& call) {
  const Conv1dInput& input = call.input;
  const auto [k, d_e, d_c] = input.shape;
  const std::size_t patch = k * d_e;
  for (std::size_t b = 0; b < input.documents(); ++b) {
    const std::size_t positions = input.positions(b);
    float* h = call.output(b);
    conv1d_im2col(input, b, call.scratch);
    fill_rows(input.bias, positions, d_c, h);
    call.blas->sgemm(false, true, as_int(positions), as_int(d_c), as_int(patch), 1.0f, call.scratch,
                     as_int(patch), input.w, as_int(patch), 1.0f, h, as_int(d_c));
    relu(h, positions * d_c);
  }
}

void conv1d_blas_shifted(const Conv1dCall& call) {
  const Conv1dInput& input = call.input;
  const auto [k, d_e, d_c] = input.shape;
  for (std::size_t b = 0; b < input.documents(); ++b) {
    const std::size_t positions = input.positions(b);
    float* h = call.output(b);
    fill_rows(input.bias, positions, d_c, h);
    for (std::size_t i = 0; i < k; ++i) {
      call.blas->sgemm(false, true, as_int(positions), as_int(d_c), as_int(d_e), 1.0f,
                       input.document(b) + i * d_e, as_int(d_e), input.w + i * d_e, as_int(k * d_e),
                       1.0f, h, as_int(d_c));
    }
    relu(h, positions * d_c);
  }
}

std::size_t conv2d_im2col_scratch(const Conv2dShape& shape, std::size_t /*longest*/) {
  return shape.out_pixels() * shape.depth();
}

void conv2d_blas_im2col(const Conv2dCall& call) {
  const Conv2dShape& shape = call.shape;
  const std::size_t padding = shape.padding(), c_in = shape.c_in;
  for (std::size_t image = 0; image < call.images; ++image) {
    const float* x = call.x + image * shape.height * shape.width * c_in;
    float* patch = call.scratch;
    for (std::size_t pixel = 0; pixel < shape.out_pixels(); ++pixel) {
      const std::size_t top = pixel / shape.out_width() * shape.stride;
      const std::size_t left = pixel % shape.out_width() * shape.stride;
      for (std::size_t a = top; a < top + shape.kernel; ++a) {
        for (std::size_t b = left; b < left + shape.kernel; ++b, patch += c_in) {
          const bool inside = a >= padding && a - padding < shape.height && b >= padding &&
                              b - padding < shape.width;
          if (inside) {
            std::copy_n(x + ((a - padding) * shape.width + b - padding) * c_in, c_in, patch);
          } else {
            std::fill_n(patch, c_in, 0.0f);
          }
        }
      }
    }
    const Int depth = as_int(shape.depth()), c_out = as_int(shape.c_out);
    call.blas->sgemm(false, true, as_int(shape.out_pixels()), c_out, depth, 1.0f, call.scratch,
                     depth, call.w, depth, 0.0f, call.y + image * shape.out_pixels() * shape.c_out,
                     c_out);
  }
}

void linear_blas_gemm(const LinearCall& call) {
  const auto [inputs, outputs] = call.shape;
  fill_rows(call.c, call.documents, outputs, call.z);
  call.blas->sgemm(false, true, as_int(call.documents), as_int(outputs), as_int(inputs), 1.0f,
                   call.g, as_int(inputs), call.a, as_int(inputs), 1.0f, call.z, as_int(outputs));
}

void linear_blas_gemv(const LinearCall& call) {
  const auto [inputs, outputs] = call.shape;
  fill_rows(call.c, call.documents, outputs, call.z);
  for (std::size_t b = 0; b < call.documents; ++b) {
    call.blas->sgemv(as_int(outputs), as_int(inputs), 1.0f, call.a, as_int(inputs),
                     call.g + b * inputs, 1.0f, call.z + b * outputs);
  }
}

void linear_grad_weights_blas_gemm(const LinearGradWeightsCall& call) {
  const auto [inputs, outputs] = call.shape;
  call.blas->sgemm(true, false, as_int(outputs), as_int(inputs), as_int(call.documents), 1.0f,
                   call.dz, as_int(outputs), call.g, as_int(inputs), 0.0f, call.da, as_int(inputs));
  std::fill_n(call.dc, outputs, 0.0f);
  for (std::size_t b = 0; b < call.documents; ++b) {
    for (std::size_t j = 0; j < outputs; ++j) call.dc[j] += call.dz[b * outputs + j];
  }
}

void linear_grad_input_blas_gemm(const LinearGradInputCall& call) {
  const auto [inputs, outputs] = call.shape;
  call.blas->sgemm(false, false, as_int(call.documents), as_int(inputs), as_int(outputs), 1.0f,
                   call.dz, as_int(outputs), call.a, as_int(inputs), 0.0f, call.dg, as_int(inputs));
}

}  // namespace hwprof
