// Each loop repeats its instruction eight times a round. Operands are ones: neither denormal
// numbers nor overflows, which some CPUs serve by microcode that events may count.
#include "src/measure/known_work.h"

#include <array>
#include <memory>

#include "kernels/registry.h"
#include "kernels/simd/simd.h"
#include "kernels/thread_team.h"

namespace hwprof {

#if defined(__x86_64__)

namespace {

struct alignas(64) Operands {
  std::array<float, 16> floats{};
  std::array<double, 8> doubles{};
  std::array<double, 8> written{};
};

Operands& operands() {
  static Operands all = [] {
    Operands ones;
    ones.floats.fill(1);
    ones.doubles.fill(1);
    return ones;
  }();
  return all;
}

// %[data]: floats at 0, doubles at 64, to be written at 128. AVX before, SSE after: no state of the
// upper halves is left.
#define HWPROF_LOOP(name, prepare, body, after)                                          \
  void name(std::uint64_t rounds) {                                                      \
    asm volatile(prepare "\n1:\n.rept 8\n" body "\n.endr\ndec %[rounds]\njnz 1b\n" after \
                 : [rounds] "+r"(rounds)                                                 \
                 : [data] "r"(&operands())                                               \
                 : "rax", "xmm0", "xmm1", "cc", "memory");                               \
  }
#define HWPROF_SSE(name, offset, body) \
  HWPROF_LOOP(name, "movaps " offset "(%[data]), %%xmm0\nmovaps %%xmm0, %%xmm1", body, "")
#define HWPROF_AVX(name, offset, body)                                                   \
  HWPROF_LOOP(name, "vmovaps " offset "(%[data]), %%ymm0\nvmovaps %%ymm0, %%ymm1", body, \
              "vzeroupper")
#define HWPROF_512(name, offset, body)                               \
  HWPROF_LOOP(name,                                                  \
              "mov $0x1f, %%eax\nkmovw %%eax, %%k1\nvmovaps " offset \
              "(%[data]), %%zmm0\nvmovaps %%zmm0, %%zmm1",           \
              body, "vzeroupper")

HWPROF_SSE(add_scalar_float, "0", "addss %%xmm1, %%xmm0")
HWPROF_SSE(add_scalar_double, "64", "addsd %%xmm1, %%xmm0")
HWPROF_SSE(multiply_128_float, "0", "mulps %%xmm1, %%xmm0")
HWPROF_SSE(multiply_128_double, "64", "mulpd %%xmm1, %%xmm0")
HWPROF_SSE(divide_128_float, "0", "divps %%xmm1, %%xmm0")
HWPROF_SSE(root_128_double, "64", "sqrtpd %%xmm1, %%xmm0")
HWPROF_AVX(add_256_float, "0", "vaddps %%ymm1, %%ymm0, %%ymm0")
HWPROF_AVX(add_256_double, "64", "vaddpd %%ymm1, %%ymm0, %%ymm0")
HWPROF_AVX(fma_scalar_double, "64", "vfmadd231sd %%xmm1, %%xmm1, %%xmm0")
HWPROF_AVX(fma_256_float, "0", "vfmadd231ps %%ymm1, %%ymm1, %%ymm0")
HWPROF_AVX(fma_256_double, "64", "vfmadd231pd %%ymm1, %%ymm1, %%ymm0")
HWPROF_AVX(maximum_256_float, "0", "vmaxps %%ymm1, %%ymm0, %%ymm0")
HWPROF_512(fma_512_float, "0", "vfmadd231ps %%zmm1, %%zmm1, %%zmm0")
HWPROF_512(fma_512_double, "64", "vfmadd231pd %%zmm1, %%zmm1, %%zmm0")
HWPROF_512(add_512_masked, "0", "vaddps %%zmm1, %%zmm0, %%zmm0%{%%k1%}")
HWPROF_LOOP(add_integers, "", "add $3, %%rax", "")
// Below the red zone of the function.
HWPROF_LOOP(call_and_return, "lea -128(%%rsp), %%rsp\njmp 3f\n2: ret\n3:", "call 2b",
            "lea 128(%%rsp), %%rsp")
HWPROF_LOOP(load_8, "", "mov (%[data]), %%rax", "")
HWPROF_LOOP(load_and_store_8, "", "mov (%[data]), %%rax\nmov %%rax, 128(%[data])", "")
HWPROF_LOOP(load_32, "", "vmovaps (%[data]), %%ymm0", "vzeroupper")
HWPROF_LOOP(load_64, "", "vmovaps (%[data]), %%zmm0", "vzeroupper")

#undef HWPROF_512
#undef HWPROF_AVX
#undef HWPROF_SSE
#undef HWPROF_LOOP

constexpr std::uint64_t kRounds = 20000;

KnownWork arithmetic(std::string name, void (*run)(std::uint64_t)) {
  return {.name = std::move(name), .run = run, .rounds = kRounds, .tells_flops = true};
}

KnownWork loads(std::string name, void (*run)(std::uint64_t), unsigned bytes) {
  return {.name = std::move(name), .run = run, .rounds = kRounds, .load_bytes = bytes};
}

// 16 documents, 64 inputs, 64 outputs: nothing is padded.
constexpr LinearShape kLayerShape{64, 64};
constexpr std::size_t kLayerDocuments = 16;
struct LayerArrays {
  ThreadTeam team{1, {}};
  std::vector<float> g = std::vector<float>(kLayerDocuments * kLayerShape.inputs, 1.0F);
  std::vector<float> a = std::vector<float>(kLayerShape.inputs * kLayerShape.outputs, 1.0F);
  std::vector<float> c = std::vector<float>(kLayerShape.outputs, 1.0F);
  std::vector<float> z = std::vector<float>(kLayerDocuments * kLayerShape.outputs);
  std::vector<float> packed;
};

KnownWork linear(const LinearVariant& variant) {
  auto arrays = std::make_shared<LayerArrays>();
  if (variant.pack != nullptr) {
    arrays->packed.resize(variant.packed_floats(kLayerShape));
    variant.pack(kLayerShape, arrays->a.data(), arrays->packed.data());
  }
  const auto run = [arrays, run_variant = variant.run](std::uint64_t rounds) {
    const LinearCall call{.shape = kLayerShape,
                          .documents = kLayerDocuments,
                          .g = arrays->g.data(),
                          .a = arrays->a.data(),
                          .packed = arrays->packed.data(),
                          .c = arrays->c.data(),
                          .z = arrays->z.data(),
                          .team = &arrays->team};
    for (std::uint64_t i = 0; i < rounds; ++i) run_variant(call);
  };
  return {.name = std::string("linear layer, ") + std::string(variant.name),
          .run = run,
          .rounds = 10,
          .tells_flops = true,
          .tells_instructions = true};
}

}  // namespace

std::vector<KnownWork> known_work() {
  std::vector<KnownWork> all = {arithmetic("add, scalar float", add_scalar_float),
                                arithmetic("add, scalar double", add_scalar_double),
                                arithmetic("multiply, 128-bit float", multiply_128_float),
                                arithmetic("multiply, 128-bit double", multiply_128_double),
                                arithmetic("divide, 128-bit float", divide_128_float),
                                arithmetic("square root, 128-bit double", root_128_double)};
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (avx2) {
    all.push_back(arithmetic("add, 256-bit float", add_256_float));
    all.push_back(arithmetic("add, 256-bit double", add_256_double));
    all.push_back(arithmetic("FMA, scalar double", fma_scalar_double));
    all.push_back(arithmetic("FMA, 256-bit float", fma_256_float));
    all.push_back(arithmetic("FMA, 256-bit double", fma_256_double));
    all.push_back(arithmetic("maximum, 256-bit float", maximum_256_float));
  }
  if (avx512) {
    all.push_back(arithmetic("FMA, 512-bit float", fma_512_float));
    all.push_back(arithmetic("FMA, 512-bit double", fma_512_double));
    all.push_back(arithmetic("add, 5 of 16 floats by a mask", add_512_masked));
  }
  for (const LinearVariant& variant : linear_variants()) {
    if (!variant.needs_blas) all.push_back(linear(variant));
  }
  all.push_back({.name = "integer additions",
                 .run = add_integers,
                 .rounds = kRounds,
                 .tells_instructions = true});
  all.push_back({.name = "calls and returns",
                 .run = call_and_return,
                 .rounds = kRounds,
                 .tells_instructions = true});
  all.push_back(loads("loads, 64 bit", load_8, 8));
  all.push_back(loads("loads and stores, 64 bit", load_and_store_8, 8));
  if (avx2) all.push_back(loads("loads, 256 bit", load_32, 32));
  if (avx512) all.push_back(loads("loads, 512 bit", load_64, 64));
  return all;
}

#else

std::vector<KnownWork> known_work() { return {}; }

#endif

}  // namespace hwprof
