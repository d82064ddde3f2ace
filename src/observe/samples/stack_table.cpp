#include "src/observe/samples/stack_table.h"

#include <fmt/format.h>

namespace hwprof::observe {
namespace {

constexpr std::size_t kMaximumStacks = 200'000, kMaximumFrames = 8'000'000;

}  // namespace

std::uint32_t StackTable::number(NativeStack stack) {
  const auto known = numbers_.find(stack);
  if (known != numbers_.end()) {
    ++samples_[known->second];
    return known->second;
  }
  const std::size_t frames = stack.places.size();
  if (frames > 1 && (stacks_.size() >= kMaximumStacks || frames_ + frames > kMaximumFrames)) {
    ++cut_;
    stack.places.resize(1);
    return number(std::move(stack));
  }
  frames_ += frames;
  const auto number = static_cast<std::uint32_t>(stacks_.size());
  samples_.push_back(1);
  stacks_.push_back(&numbers_.emplace(std::move(stack), number).first->first);
  return number;
}

std::string StackTable::note() const {
  if (cut_ == 0) return "";
  return fmt::format(
      "{} samples stand in the stacks without their callers: more than {} different stacks, or {} "
      "frames in them",
      cut_, kMaximumStacks, kMaximumFrames);
}

}  // namespace hwprof::observe
