#include "src/observe/samples/placed_stacks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "src/observe/samples/sampling.h"

namespace hwprof::observe {
namespace {

class Placing {
 public:
  Placing(SampleTable& table, const CodeLines& code, const LineStacks& python)
      : table_(table), code_(code), python_(python) {}

  void add(const NativeStack& native, std::uint32_t python, std::uint64_t samples) {
    report::PlacedStacks::Stack stack{.process = native.process, .places = {}, .samples = samples};
    const std::vector<StackedLine>& lines = python_.lines_of(python);
    for (const MergedFrame& frame : table_.merged(native.places, lines)) {
      stack.places.push_back(frame.python ? place_of(lines[frame.index].line)
                                          : place_of(native.places[frame.index]));
    }
    if (const auto begins = object_of(native.places.back())) beginning_[*begins] += samples;
    found_.stacks.push_back(std::move(stack));
  }

  report::PlacedStacks finish() {
    const auto first =
        std::max_element(beginning_.begin(), beginning_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (first == beginning_.end() || first->first == 0) return std::move(found_);
    std::swap(found_.objects[0], found_.objects[first->first]);
    for (report::PlacedStacks::Place& place : found_.places) {
      if (!place.object) continue;
      if (*place.object == 0) {
        place.object = first->first;
      } else if (*place.object == first->first) {
        place.object = 0;
      }
    }
    return std::move(found_);
  }

 private:
  std::optional<std::size_t> object_of(CodePlace place) {
    auto object = table_.images.object(place);
    if (!object) return std::nullopt;
    const auto [known, added] = objects_.try_emplace(place.image, found_.objects.size());
    if (added) found_.objects.push_back(*std::move(object));
    return known->second;
  }

  std::size_t place_of(CodePlace place) {
    if (table_.images.path(place) == kKernelCode) place = table_.images.kernel();
    const auto [known, added] = places_.try_emplace(place, found_.places.size());
    if (!added) return known->second;
    std::vector<report::SourceLine> lines = code_.of(place);
    if (lines.empty()) lines.push_back({.file = {}, .function = {}});
    lines.back().function = table_.frame_name(place);
    found_.places.push_back(
        {.object = object_of(place), .offset = place.at, .lines = std::move(lines)});
    return known->second;
  }

  std::size_t place_of(std::uint32_t python_line) {
    const auto [known, added] = lines_.try_emplace(python_line, found_.places.size());
    if (added) {
      found_.places.push_back(
          {.object = std::nullopt, .offset = 0, .lines = {python_.line(python_line)}});
    }
    return known->second;
  }

  SampleTable& table_;
  const CodeLines& code_;
  const LineStacks& python_;
  report::PlacedStacks found_;
  std::map<std::uint32_t, std::size_t> objects_;  // by image
  std::map<CodePlace, std::size_t> places_;
  std::map<std::uint32_t, std::size_t> lines_;      // by number: places
  std::map<std::size_t, std::uint64_t> beginning_;  // samples of stacks, by their outermost object
};

}  // namespace

report::PlacedStacks placed_stacks(const LineProfile& tallied, SampleTable& table,
                                   const CodeLines& code, const LineStacks& python) {
  Placing placing(table, code, python);
  for (const auto& [numbers, samples] : tallied.stacks)
    placing.add(table.stacks.stack(numbers.first), numbers.second, samples);
  return placing.finish();
}

}  // namespace hwprof::observe
