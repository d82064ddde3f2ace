// What libhwprof-exact leaves for hwprof (count_file.h) of each call or region.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "src/base/result.h"
#include "src/blas/exact/count_file.h"
#include "src/exact/exact.h"

namespace hwprof::blas {

template <std::size_t kRoom>
void copy_text(char (&to)[kRoom], std::string_view from) {
  const std::size_t bytes = std::min(from.size(), kRoom - 1);
  std::memcpy(to, from.data(), bytes);
  to[bytes] = '\0';
}

// Of a text whose end is not to be trusted.
template <std::size_t kRoom>
void copy_bounded(char (&to)[kRoom], const char* from) {
  copy_text(to, {from, ::strnlen(from, kRoom - 1)});
}

// Heads are no objects of the stack: the program's may have few KiB left.
//
// `head` says of which call; its process and what was counted, or why nothing was, are filled in.
// Where no file can be written hwprof misses it, and says so.
void leave_count(CountHead& head, const Result<exact::Counted>& counted);

}  // namespace hwprof::blas
