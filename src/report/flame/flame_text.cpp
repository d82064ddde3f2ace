// The two formats that other tools read: folded stacks and speedscope.
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "src/report/flame/flame.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

// A frame ends at ";", a stack at its last blank: neither may come from a name.
std::string folded_name(const std::string& name) {
  std::string text = printable(name);
  for (char& c : text) {
    if (c == ';') c = ':';
  }
  return text.empty() ? "[unknown]" : text;
}

}  // namespace

std::string folded_text(std::span<const FoldedStack> stacks) {
  std::string text;
  for (const FoldedStack& stack : stacks) {
    for (std::size_t i = 0; i < stack.frames.size(); ++i) {
      if (i > 0) text += ';';
      text += folded_name(stack.frames[i]);
    }
    text += ' ' + std::to_string(stack.samples) + '\n';
  }
  return text;
}

std::string speedscope_json(std::span<const FoldedStack> stacks, const FlameOptions& options) {
  using nlohmann::ordered_json;
  std::unordered_map<std::string, std::size_t> numbers;
  ordered_json frames = ordered_json::array(), samples = ordered_json::array(),
               weights = ordered_json::array();
  const bool timed = options.hz > 0;
  double end = 0;
  for (const FoldedStack& stack : stacks) {
    ordered_json sample = ordered_json::array();
    for (const std::string& frame : stack.frames) {
      const auto [known, added] = numbers.emplace(frame, numbers.size());
      if (added) frames.push_back({{"name", printable(frame)}});
      sample.push_back(known->second);
    }
    const auto count = static_cast<double>(stack.samples);
    const double weight = timed ? count / options.hz : count;
    samples.push_back(std::move(sample));
    weights.push_back(weight);
    end += weight;
  }
  const ordered_json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                             {"shared", {{"frames", std::move(frames)}}},
                             {"profiles",
                              {{{"type", "sampled"},
                                {"name", printable(options.title)},
                                {"unit", timed ? "seconds" : "none"},
                                {"startValue", 0},
                                {"endValue", end},
                                {"samples", std::move(samples)},
                                {"weights", std::move(weights)}}}},
                             {"name", printable(options.title)},
                             {"exporter", "hwprof " HWPROF_VERSION}};
  return file.dump() + '\n';
}

}  // namespace hwprof::report
