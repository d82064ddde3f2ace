// The memory that kernels work on: floats on a 64-byte boundary (a cache line and the widest
// vector), zeroed, and owned by one object. Not std::vector: it can neither align portably nor
// fail without an exception, and a shape given on the command line may ask for more than there is.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "src/base/result.h"

namespace hwprof {

class FloatBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  FloatBuffer() = default;
  FloatBuffer(FloatBuffer&& other) noexcept
      : floats_(std::move(other.floats_)), size_(std::exchange(other.size_, 0)) {}
  FloatBuffer& operator=(FloatBuffer&& other) noexcept {
    floats_ = std::move(other.floats_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // `size` zeros; every page is touched here, by the thread that asks, not in the measured code.
  // Fault::kEnvironment names the bytes that cannot be had. More than the machine's memory is
  // refused before the allocator is asked: Linux would promise it and then kill the process.
  static Result<FloatBuffer> zeros(std::size_t size);

  [[nodiscard]] float* data() { return floats_.get(); }
  [[nodiscard]] const float* data() const { return floats_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  float& operator[](std::size_t i) { return floats_[i]; }
  const float& operator[](std::size_t i) const { return floats_[i]; }
  [[nodiscard]] std::span<float> span() { return {data(), size_}; }
  [[nodiscard]] std::span<const float> span() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(float* floats) const { std::free(floats); }
  };
  std::unique_ptr<float[], Free> floats_;
  std::size_t size_ = 0;
};

inline Result<FloatBuffer> FloatBuffer::zeros(std::size_t size) {
  FloatBuffer buffer;
  if (size == 0) return buffer;
  const std::uint64_t machine_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (size > machine_bytes / sizeof(float)) {
    return environment_error(ENOMEM,
                             "cannot allocate " + std::to_string(size) +
                                 " floats (4 bytes each): the machine has " +
                                 std::to_string(machine_bytes) + " bytes of memory",
                             "choose a smaller shape or batch");
  }
  // aligned_alloc wants a multiple of the alignment.
  const std::size_t bytes = (size * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
  buffer.floats_.reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)));
  if (!buffer.floats_) {
    return environment_error(ENOMEM, "cannot allocate " + std::to_string(bytes) + " bytes",
                             "choose a smaller shape or batch");
  }
  std::memset(buffer.floats_.get(), 0, bytes);
  buffer.size_ = size;
  return buffer;
}

}  // namespace hwprof
