// What oneDNN says of a primitive, in the audit library: asked in the program, where the primitive
// is, by the functions that oneDNN exports for it (dnnl.h and dnnl_debug.h of versions 2 and 3).
// They write nothing but their answer. A call of dnnl_primitive_execute() has no argument in a
// vector register, so that they may use those.
#pragma once

#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/prepared.h"
#include "src/observe/audit/slots.h"

namespace hwprof::observe::audit {

struct OneDnn {
  const int* (*version)();  // of a structure that begins with it
  int (*description)(const void* primitive, const void** description);
  int (*query)(const void* description, int what, int index, void* answer);
  const void* (*tensor)(const void* description, int what, int index);
  const char* (*kind)(int), *(*direction)(int), *(*type)(int);
  // Of version 3, in which a tensor is opaque; nullptr: it is as dnnl_types.h of version 2 has it.
  int (*query_tensor)(const void* tensor, int what, void* answer);
};

// False: it is no oneDNN that tells. Nothing of it is called yet: the loader may not have
// relocated it.
inline bool find_onednn(const ElfObject& file, OneDnn& library) {
  const auto find = [&]<class Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(file.function(name));
    return function != nullptr;
  };
  find("dnnl_memory_desc_query", library.query_tensor);
  return find("dnnl_version", library.version) &&
         find("dnnl_primitive_get_primitive_desc", library.description) &&
         find("dnnl_primitive_desc_query", library.query) &&
         find("dnnl_primitive_desc_query_md", library.tensor) &&
         find("dnnl_prim_kind2str", library.kind) &&
         find("dnnl_prop_kind2str", library.direction) && find("dnnl_dt2str", library.type);
}

namespace onednn {

// dnnl_query_t
enum Query {
  kKind = 2,
  kImplementation = 8,
  kDirection = 11,
  kSource = 129,
  kSourceGradient,
  kWeights,
  kWeightsGradient,
  kResult,
  kResultGradient,
  kDimensions = 256,
  kSizes,
  kType,
};

// dnnl_memory_desc_t of version 2, as far as it is read.
struct Tensor2 {
  int dimensions;
  long sizes[12];
  int type;
};

struct Tensor {
  int dimensions = 0, type = 0;
  const long* sizes = nullptr;
};

inline Tensor read_tensor(const OneDnn& library, const void* tensor) {
  Tensor read;
  if (tensor == nullptr) return read;
  if (library.query_tensor == nullptr) {
    const auto& known = *static_cast<const Tensor2*>(tensor);
    return {known.dimensions, known.type, known.sizes};
  }
  if (library.query_tensor(tensor, kDimensions, &read.dimensions) != 0 ||
      library.query_tensor(tensor, kSizes, &read.sizes) != 0 ||
      library.query_tensor(tensor, kType, &read.type) != 0 || read.sizes == nullptr) {
    return {};
  }
  return read;
}

// The tensor itself, or of a backward primitive that has none its gradient.
inline Tensor find_tensor(const OneDnn& library, const void* description, Query what) {
  const Tensor tensor = read_tensor(library, library.tensor(description, what, 0));
  if (tensor.dimensions > 0) return tensor;
  return read_tensor(library, library.tensor(description, what + 1, 0));
}

inline void copy_shape(const Tensor& tensor, TensorShape& to) {
  const auto dimensions = static_cast<u64>(tensor.dimensions);
  if (tensor.dimensions < 0 || dimensions > TensorShape::kMostDimensions) return;
  to.dimensions = dimensions;
  for (u64 i = 0; i < dimensions; ++i) to.sizes[i] = tensor.sizes[i];
}

template <u64 kRoom>
void copy_word(char (&to)[kRoom], const char* from) {
  if (from != nullptr) copy_text(to, kRoom, from);
}

}  // namespace onednn

// `work` is cleared. False: oneDNN does not tell.
inline bool describe(const OneDnn& library, const void* primitive, PreparedWork& work) {
  using namespace onednn;
  if (library.version()[0] != (library.query_tensor == nullptr ? 2 : 3)) return false;
  const void* description = nullptr;
  int kind = 0, direction = 0;
  if (library.description(primitive, &description) != 0 || description == nullptr ||
      library.query(description, kKind, 0, &kind) != 0) {
    return false;
  }
  copy_word(work.kind, library.kind(kind));
  if (library.query(description, kDirection, 0, &direction) == 0 && direction != 0)
    copy_word(work.direction, library.direction(direction));
  const char* implementation = nullptr;
  if (library.query(description, kImplementation, 0, &implementation) == 0)
    copy_word(work.implementation, implementation);
  const Tensor source = find_tensor(library, description, kSource);
  copy_shape(source, work.source);
  copy_shape(find_tensor(library, description, kWeights), work.weights);
  copy_shape(find_tensor(library, description, kResult), work.result);
  if (source.dimensions > 0) copy_word(work.type, library.type(source.type));
  return true;
}

}  // namespace hwprof::observe::audit
