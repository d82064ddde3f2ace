// Call stacks of samples, each different one with a number, so that a sample is a few words and
// memory grows with the code that ran. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/observe/samples/images.h"

namespace hwprof::observe {

struct NativeStack {
  std::string process;            // its name, or "[process]"
  std::vector<CodePlace> places;  // innermost first, the sampled one at least

  auto operator<=>(const NativeStack&) const = default;  // NOLINT(modernize-use-nullptr)
};

class StackTable {
 public:
  // Of a sample with that stack; where there is no room left for its callers, of the sampled place
  // alone.
  std::uint32_t number(NativeStack stack);
  [[nodiscard]] const NativeStack& stack(std::uint32_t number) const { return *stacks_.at(number); }
  [[nodiscard]] CodePlace hit(std::uint32_t number) const { return stack(number).places.front(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(stacks_.size()); }
  [[nodiscard]] std::uint64_t samples(std::uint32_t number) const { return samples_.at(number); }
  // Why some have no callers; "": all have.
  [[nodiscard]] std::string note() const;

 private:
  std::map<NativeStack, std::uint32_t> numbers_;
  std::vector<const NativeStack*> stacks_;
  std::vector<std::uint64_t> samples_;
  std::size_t frames_ = 0;
  std::uint64_t cut_ = 0;
};

}  // namespace hwprof::observe
