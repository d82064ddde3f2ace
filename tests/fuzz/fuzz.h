// What the targets share. A target is one parser of bytes that another user may have written
// (docs/testing.md, "Fuzzing"); beside not crashing, it may hold the parser to what it promises.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "src/base/unique_fd.h"

// Defined by each target.
void fuzz(std::string_view text);

inline void must(bool holds) {
  if (!holds) std::abort();
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline hwprof::UniqueFd file_of(std::string_view text) {
  hwprof::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  must(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return file;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
