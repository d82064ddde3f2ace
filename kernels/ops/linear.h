// The linear layer and its gradients. z[b, j] = c[j] + sum_d a[j, d] g[b, d].
//
//   g: [documents, inputs]   float32, row-major
//   a: [outputs, inputs]     float32, row-major
//   z: [documents, outputs]  float32, row-major
//
// No argument may alias z. Nothing needs alignment.
#pragma once

#include <cstddef>

namespace hwprof {

class BlasLibrary;
class ThreadTeam;

struct LinearShape {
  std::size_t inputs = 0, outputs = 0;
};

struct LinearCall {
  LinearShape shape;
  std::size_t documents = 0;
  const float* g = nullptr;
  const float* a = nullptr;       // as above
  const float* packed = nullptr;  // what the variant's pack() made of a; unused if it has none
  const float* c = nullptr;       // [outputs]
  float* z = nullptr;
  const BlasLibrary* blas = nullptr;
  ThreadTeam* team = nullptr;
};

void linear_reference(const LinearCall& call);
void linear_blas_gemm(const LinearCall& call);  // one product for the batch
void linear_blas_gemv(const LinearCall& call);  // one product a document
void linear_simd(const LinearCall& call);

std::size_t linear_simd_packed_floats(const LinearShape& shape);
void linear_simd_pack(const LinearShape& shape, const float* a, float* packed);

// Gradients of the linear layer z = a g + c, given dz, that of the loss by z:
//
//   da[j, d] = sum_b dz[b, j] g[b, d]     dc[j] = sum_b dz[b, j]
//   dg[b, d] = sum_j dz[b, j] a[j, d]
//
//   g, dg:  [documents, inputs]   float32, row-major
//   a, da:  [outputs, inputs]     float32, row-major
//   dz:     [documents, outputs]  float32, row-major
//
// Results are written, not added to. They may alias nothing. Nothing needs alignment.
struct LinearGradWeightsCall {
  LinearShape shape;
  std::size_t documents = 0;
  const float* g = nullptr;
  const float* dz = nullptr;
  float* da = nullptr;
  float* dc = nullptr;  // [outputs]
  const BlasLibrary* blas = nullptr;
  ThreadTeam* team = nullptr;
};

void linear_grad_weights_reference(const LinearGradWeightsCall& call);
void linear_grad_weights_blas_gemm(const LinearGradWeightsCall& call);
void linear_grad_weights_simd(const LinearGradWeightsCall& call);

struct LinearGradInputCall {
  LinearShape shape;
  std::size_t documents = 0;
  const float* a = nullptr;
  const float* dz = nullptr;
  float* dg = nullptr;
  const BlasLibrary* blas = nullptr;
  ThreadTeam* team = nullptr;
};

void linear_grad_input_reference(const LinearGradInputCall& call);
void linear_grad_input_blas_gemm(const LinearGradInputCall& call);
void linear_grad_input_simd(const LinearGradInputCall& call);

}  // namespace hwprof
