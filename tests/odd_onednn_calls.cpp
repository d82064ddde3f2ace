// Calls of odd_onednn.cpp: a convolution, shapes that nobody can keep, no primitive, and more kinds
// of work than there is room for. Exit 0: each call was as it is alone.
#include "tests/odd_onednn.h"

// NOLINTNEXTLINE(readability-identifier-naming): a name of oneDNN
extern "C" int dnnl_primitive_execute(const OddPrimitive*, void*, int, const void*);

namespace {

bool execute(const OddPrimitive* primitive) {
  return dnnl_primitive_execute(primitive, reinterpret_cast<void*>(0x11), 22,
                                reinterpret_cast<const void*>(0x33)) ==
         (primitive != nullptr ? 7 : 2);
}

}  // namespace

int main() {
  const OddPrimitive convolution{
      5, "jit:avx512_core", {4, {2, 6, 9, 9}}, {5, {3, 4, 2, 3, 3}}, {4, {2, 12, 7, 7}}};
  bool good = true;
  for (int i = 0; i < 100; ++i) good = good && execute(&convolution);
  const OddPrimitive odd{99, nullptr, {9, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {-1, {}}, {1, {-5}}};
  for (int i = 0; i < 50; ++i) good = good && execute(&odd);
  for (int i = 0; i < 10; ++i) good = good && execute(nullptr);
  OddPrimitive many{5, "", {1, {}}, {1, {}}, {1, {}}};
  for (; many.source.sizes[0] < 6000; ++many.source.sizes[0]) good = good && execute(&many);
  return good ? 0 : 1;
}
