// Calls one hand-written kernel a given number of times, for whoever counts what a call does (the
// difference of two runs): kernel_caller ISA conv1d DOCUMENTS K CALLS, kernel_caller ISA linear
// DOCUMENTS INPUTS CALLS. Writes a JSON object of what a call is: its FLOP, and the shape of its
// operands.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/ops/conv1d.h"
#include "kernels/ops/linear.h"
#include "kernels/simd/simd.h"
#include "kernels/tensor.h"
#include "kernels/thread_team.h"

namespace {

using namespace hwprof;

// The text CNN's: words of a document, floats of a word, filters, classes.
constexpr std::size_t kWords = 124, kWordFloats = 300, kFilters = 128, kClasses = 100;

void describe(const char* name, double flops, std::size_t documents, std::size_t rows,
              std::size_t depth, std::size_t columns, std::size_t row_stride, bool stores_rows) {
  fmt::print(
      "{{\"kernel\": \"{}\", \"isa\": \"{}\", \"flops\": {:.0f}, \"documents\": {}, \"rows\": {}, "
      "\"depth\": {}, \"columns\": {}, \"row_stride\": {}, \"stores_rows\": {}}}\n",
      name, simd_target(), flops, documents, rows, depth, columns, row_stride, stores_rows);
}

FloatBuffer floats(std::size_t count) {
  FloatBuffer buffer = *FloatBuffer::zeros(count);
  for (std::size_t i = 0; i < count; ++i) buffer[i] = static_cast<float>(i % 17) - 8.0F;
  return buffer;
}

void call_conv1d(std::size_t documents, std::size_t k, int calls) {
  ThreadTeam team(1, {});
  const Conv1dShape shape{k, kWordFloats, kFilters};
  std::vector<std::size_t> row_start;
  for (std::size_t b = 0; b <= documents; ++b) row_start.push_back(b * kWords);
  const FloatBuffer x = floats(row_start.back() * kWordFloats), bias = floats(kFilters);
  const FloatBuffer w = floats(kFilters * k * kWordFloats);
  FloatBuffer packed = floats(conv1d_simd_packed_floats(shape)), g = floats(documents * kFilters);
  conv1d_simd_pack(shape, w.data(), packed.data());
  const Conv1dMaxpoolCall call{.input = {.shape = shape,
                                         .row_start = row_start,
                                         .x = x.data(),
                                         .w = w.data(),
                                         .packed = packed.data(),
                                         .bias = bias.data(),
                                         .team = &team},
                               .g = g.data(),
                               .g_stride = kFilters};
  for (int i = 0; i < calls; ++i) conv1d_maxpool_fused(call);
  const std::size_t positions = kWords - k + 1;
  describe("conv1d", 2.0 * static_cast<double>(documents * positions * kFilters * k * kWordFloats),
           documents, positions, k * kWordFloats, kFilters, kWordFloats, false);
}

void call_linear(std::size_t documents, std::size_t inputs, int calls) {
  ThreadTeam team(1, {});
  const LinearShape shape{inputs, kClasses};
  const FloatBuffer g = floats(documents * inputs), a = floats(kClasses * inputs);
  const FloatBuffer c = floats(kClasses);
  FloatBuffer packed = floats(linear_simd_packed_floats(shape)), z = floats(documents * kClasses);
  linear_simd_pack(shape, a.data(), packed.data());
  const LinearCall call{.shape = shape,
                        .documents = documents,
                        .g = g.data(),
                        .a = a.data(),
                        .packed = packed.data(),
                        .c = c.data(),
                        .z = z.data(),
                        .team = &team};
  for (int i = 0; i < calls; ++i) linear_simd(call);
  describe("linear", 2.0 * static_cast<double>(documents * inputs * kClasses), 1, documents, inputs,
           kClasses, inputs, true);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  if (!cap_simd(argv[1])) return 77;  // this CPU has no such vectors
  const std::string kernel = argv[2];
  const std::size_t documents = std::strtoul(argv[3], nullptr, 10);
  const std::size_t size = std::strtoul(argv[4], nullptr, 10);
  const int calls = std::atoi(argv[5]);
  if (kernel == "conv1d") call_conv1d(documents, size, calls);
  if (kernel == "linear") call_linear(documents, size, calls);
  return 0;
}
