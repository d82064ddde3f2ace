// Inputs for kernel tests: random values between guard zones of NaN, at any misalignment, so that
// a kernel that reads beyond its input shows it in the result, and one that writes beyond its
// output is caught by guards_intact().
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace hwprof {

class GuardedFloats {
 public:
  // `misalignment` floats off a 64-byte boundary.
  explicit GuardedFloats(std::size_t size, std::size_t misalignment = 0)
      : memory_(size + 2 * kGuard + kLine, kNan), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const std::size_t to_line = (64 - address % 64) % 64 / sizeof(float);
    offset_ = kGuard + to_line + misalignment % kLine;
  }

  static GuardedFloats random(std::size_t size, std::mt19937& generator,
                              std::size_t misalignment = 0) {
    GuardedFloats floats(size, misalignment);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (std::size_t i = 0; i < size; ++i) floats[i] = uniform(generator);
    return floats;
  }

  float* data() { return memory_.data() + offset_; }
  [[nodiscard]] const float* data() const { return memory_.data() + offset_; }
  float& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] bool guards_intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const bool guard = i < offset_ || i >= offset_ + size_;
      if (guard && !std::isnan(memory_[i])) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64, kLine = 16;
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> memory_;
  std::size_t size_, offset_ = 0;
};

// Rounding errors of a sum of `terms` grow with its length in the worst case and with its square
// root as a rule; this is between the two and catches any wrong term.
inline double tolerance(std::size_t terms) {
  return std::numeric_limits<float>::epsilon() * (4 + 2 * std::sqrt(static_cast<double>(terms)));
}

}  // namespace hwprof
