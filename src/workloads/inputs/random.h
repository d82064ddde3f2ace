// Random numbers that are the same on every platform: the standard's distributions leave the
// algorithm to the library, so that one seed gives other documents with libstdc++ than with libc++.
// Generator: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014; prng.di.unimi.it/splitmix64.c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace hwprof {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  // Below `bound`, which is not 0; off from uniform by at most bound / 2^32.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  // Uniform in [-bound, bound).
  float symmetric(float bound) {
    constexpr float kHalf = 1U << 23;
    return (static_cast<float>(below(1U << 24)) - kHalf) * (bound / kHalf);
  }

  // Nearly normal, mean 0, the given standard deviation, never beyond 3.5 of them: the sum of four
  // uniform 16-bit numbers (Irwin-Hall). Integers and one product, hence no libm that differs.
  float bell(float deviation) {
    const std::uint64_t bits = next();
    const auto sum = static_cast<std::int32_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                               (bits >> 32 & 0xffff) + (bits >> 48));
    constexpr std::int32_t kMean = 2 * 0xffff;
    constexpr float kDeviation = 37837.23F;  // sqrt(4 * (65536^2 - 1) / 12)
    return static_cast<float>(sum - kMean) * (deviation / kDeviation);
  }

 private:
  std::uint64_t state_;
};

// Every order equally likely (Fisher-Yates).
template <class Items>
void shuffle(Items& items, SplitMix64& random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[random.below(static_cast<std::uint32_t>(i))]);
  }
}

// FNV-1a, 64 bits.
inline std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace hwprof
