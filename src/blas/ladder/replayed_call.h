// One call of a program made again, in a library that was loaded: its operands, and the call itself
// by whatever name the library has for it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/blas_library.h"
#include "src/base/result.h"
#include "src/blas/ladder/replay.h"

namespace hwprof::blas {

// What it computes with. Products that are denormal are another matter than denormal operands:
// AMD's Zen 5 takes four times as long for the former alone.
enum class Magnitude { kUsual, kDenormalOperand, kDenormalResults };

class ReplayedCall {
 public:
  // By the symbol that the program called; where this library lacks it, by the plain one.
  // Of other magnitudes: where its results are sums of products alone (is_sum_of_products()).
  static Result<ReplayedCall> prepare(const BlasLibrary& library, const ReplayCall& call,
                                      Magnitude magnitude = Magnitude::kUsual);
  void run() const;
  [[nodiscard]] double flops() const { return flops_; }
  [[nodiscard]] double weight() const { return weight_; }

 private:
  // Integers and addresses in their order. The ABIs of x86-64 and arm64 hand them over apart from
  // floating-point numbers, and each in a register or a slot of 64 bits; who takes fewer does not
  // look at the rest.
  static constexpr std::size_t kWords = 16;
  using Words = std::array<std::int64_t, kWords>;

  void* function_ = nullptr;
  char type_ = 's';
  bool scalars_by_value_ = false;
  std::size_t scalars_ = 0;
  Words words_{};
  double flops_ = 0, weight_ = 0;
  // What the words point to: on the heap, where they stay when this object moves.
  std::vector<std::vector<double>> operands_;
  std::vector<std::int64_t> integers_;
  std::vector<double> numbers_;
};

// Of what is made again: nothing that was there before is added to its results.
bool is_sum_of_products(std::string_view symbol);

}  // namespace hwprof::blas
