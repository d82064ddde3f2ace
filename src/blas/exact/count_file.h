// The file that libhwprof-exact leaves for each call that it was handed and each entry to a region
// that it chose, in a folder that hwprof has made for it: one head, the files whose code ran, then
// what ran of each block of code. Written and read by one build on one machine. The program may
// have written anything there: who reads it checks every number and the end of every text
// (exact_calls.cpp).
#pragma once

#include <cstdint>

#include "src/exact/counts.h"
#include "src/observe/routines/call_shape.h"

namespace hwprof::blas {

// Names the folder, for the program.
inline constexpr char kExactVariable[] = "HWPROF_EXACT";

inline constexpr std::uint64_t kCountMagic = 0x3243584550574800;  // "HWPEXC2"
inline constexpr std::uint32_t kNoFile = ~std::uint32_t{0};
inline constexpr std::uint32_t kMostCountedFiles = 4096;
inline constexpr std::uint32_t kMostCountedBlocks = 1U << 17U;

struct CountHead {
  std::uint64_t magic = kCountMagic;
  std::uint64_t call = 0;  // its number among those of the routine or region, over all processes
  std::int64_t process = 0;
  std::uint32_t counted = 0;  // 0: why not stands in `reason`
  std::uint32_t of_region = 0;
  std::uint32_t has_shape = 0;
  std::uint32_t files = 0, blocks = 0, unused = 0;
  double declared_flops = 0;  // for a region, by hwprof_declare(); 0: none were
  observe::Shape shape;
  char name[256] = {};  // of the routine or region
  char caller[1024] = {}, library[1024] = {};
  char reason[768] = {}, hint[256] = {};
};

struct CountedFile {
  char path[1024] = {};  // as /proc/PID/maps has it; "": memory that is no file
};

struct FileBlock {
  std::uint32_t file = kNoFile, unused = 0;  // kNoFile: `offset` is an address
  std::uint64_t offset = 0;
  exact::Counts counts;
};

}  // namespace hwprof::blas
