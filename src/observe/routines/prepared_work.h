// What an object was made for that a call then only names: a primitive of oneDNN, a plan of FFTW.
// Written by the audit library into its table and read by hwprof: plain code, no C++ library.
#pragma once

namespace hwprof::observe {

// Which calls name such an object, in their first argument, or make one.
enum class Prepared : unsigned char { kNone, kPrimitive, kPlan, kPlanner };

struct TensorShape {
  static constexpr unsigned long kMostDimensions = 6;
  unsigned long dimensions;  // 0: there is no such tensor, or its shape is not known
  long sizes[kMostDimensions];
};

// Texts end in 0 where they do not fill their room. Whoever makes one clears it first: all of its
// bytes are compared. No default values, which would be set by a memset() that is not there.
struct PreparedWork {
  char kind[24];                        // "convolution"; of FFTW "c2c", "r2c", "c2r", "r2r"
  char direction[24];                   // "forward_training", "backward_data"
  char implementation[64];              // "jit:avx512_core"
  char type[8];                         // of the numbers: "f32"
  TensorShape source, weights, result;  // of FFTW the sizes, and in `weights` how many at once
};

inline constexpr unsigned long kWordsOfWork = sizeof(PreparedWork) / sizeof(unsigned long);
static_assert(sizeof(PreparedWork) % sizeof(unsigned long) == 0);

using WorkWord __attribute__((may_alias)) = unsigned long;
inline WorkWord* words_of(PreparedWork& work) { return reinterpret_cast<WorkWord*>(&work); }
inline const WorkWord* words_of(const PreparedWork& work) {
  return reinterpret_cast<const WorkWord*>(&work);
}

}  // namespace hwprof::observe
