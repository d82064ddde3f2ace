// A oneDNN of version 3, as far as the audit library asks one: tensors are opaque there. What it
// answers on the primitives that odd_onednn_calls.cpp hands it is made up.
#include "tests/odd_onednn.h"

// NOLINTBEGIN(readability-identifier-naming): names of oneDNN
extern "C" {

const int* dnnl_version() {
  static constexpr int kVersion[] = {3, 1, 0};
  return kVersion;
}

int dnnl_primitive_get_primitive_desc(const OddPrimitive* primitive, const void** description) {
  if (primitive == nullptr) return 2;
  *description = primitive;
  return 0;
}

int dnnl_primitive_desc_query(const OddPrimitive* primitive, int what, int /*index*/,
                              void* answer) {
  switch (what) {
    case 2:
      *static_cast<int*>(answer) = primitive->kind;
      return 0;
    case 8:
      *static_cast<const char**>(answer) = primitive->implementation;
      return 0;
    case 11:
      *static_cast<int*>(answer) = 128;
      return 0;
    default:
      return 3;
  }
}

const OddTensor* dnnl_primitive_desc_query_md(const OddPrimitive* primitive, int what,
                                              int /*index*/) {
  switch (what) {
    case 130:  // the gradient of the source alone
      return &primitive->source;
    case 131:
      return &primitive->weights;
    case 133:
      return &primitive->result;
    default:
      return nullptr;
  }
}

int dnnl_memory_desc_query(const OddTensor* tensor, int what, void* answer) {
  switch (what) {
    case 256:
      *static_cast<int*>(answer) = tensor->dimensions;
      return 0;
    case 257:
      *static_cast<const long**>(answer) = tensor->sizes;
      return 0;
    case 258:
      *static_cast<int*>(answer) = 3;
      return 0;
    default:
      return 3;
  }
}

const char* dnnl_prim_kind2str(int kind) {
  return kind == 5 ? "convolution" : "a kind of primitive with a name too long for its room";
}
const char* dnnl_prop_kind2str(int /*direction*/) { return "backward"; }
const char* dnnl_dt2str(int /*type*/) { return "f32"; }

// All four arguments, as its caller passed them.
int dnnl_primitive_execute(const OddPrimitive* primitive, void* stream, int count,
                           const void* arguments) {
  const bool same = stream == reinterpret_cast<void*>(0x11) && count == 22 &&
                    arguments == reinterpret_cast<const void*>(0x33);
  return same ? (primitive != nullptr ? 7 : 2) : -1;
}
}
// NOLINTEND(readability-identifier-naming)
