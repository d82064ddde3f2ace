#include "src/observe/samples/code_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "src/base/clock.h"

namespace hwprof::observe {
namespace {

// Of this thread's CPU time: with inlined functions, and then without them, which takes little.
constexpr double kInlinedNs = 2e9, kPlainNs = 1e9;
// Of the samples, from which on to say what was left out.
constexpr double kNotedPart = 0.01;

std::vector<std::pair<CodePlace, std::uint64_t>> most_sampled_first(const StackTable& stacks) {
  std::map<CodePlace, std::uint64_t> samples;
  for (std::uint32_t number = 0; number < stacks.size(); ++number)
    for (const CodePlace place : stacks.stack(number).places)
      samples[place] += stacks.samples(number);
  std::vector<std::pair<CodePlace, std::uint64_t>> places(samples.begin(), samples.end());
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return places;
}

}  // namespace

bool is_of_python(const std::string& path) {
  // The last is hwprof's own package, which --layers puts into the program.
  constexpr const char* kFolders[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                      "/python/hwprof/"};
  return std::any_of(std::begin(kFolders), std::end(kFolders),
                     [&](const char* folder) { return path.find(folder) != std::string::npos; });
}

bool is_users_object(const std::string& path) {
  if (!path.starts_with('/')) return false;
  for (const char* folder : {"/usr/lib", "/lib/", "/lib32/", "/lib64/", "/libx32/"})
    if (path.starts_with(folder)) return false;
  if (is_of_python(path)) return false;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  for (const char* begin : {"python3", "libpython3", "libhwprof-audit."})
    if (name.starts_with(begin)) return false;
  return true;
}

void CodeLines::look_up(Images& images, const StackTable& stacks, Of which) {
  const double begin_ns = thread_cpu_ns();
  std::uint64_t all = 0, plain = 0, none = 0;
  for (const auto& [place, samples] : most_sampled_first(stacks)) {
    if (which == Of::kUsersObjects && !is_users_object(images.path(place))) continue;
    all += samples;
    const double spent_ns = thread_cpu_ns() - begin_ns;
    std::vector<report::SourceLine> lines;
    if (spent_ns < kInlinedNs) {
      lines = images.lines(place);
    } else if (spent_ns < kInlinedNs + kPlainNs) {
      plain += samples;
      if (auto line = images.line(place)) lines.push_back(*std::move(line));
    } else {
      none += samples;
    }
    if (lines.empty()) continue;
    if (lines.back().function.empty()) lines.back().function = images.symbol(place);
    images_.insert(place.image);
    lines_.emplace(place, std::move(lines));
  }
  const auto part = [&](std::uint64_t samples) {
    return all > 0 ? static_cast<double>(samples) / static_cast<double>(all) : 0;
  };
  if (part(plain + none) > kNotedPart) {
    note_ = fmt::format(
        "{:.0f} % of the compiled frames were not looked up whole, since that takes long: their "
        "lines are the innermost ones, maybe of an inlined function{}",
        100 * part(plain + none),
        part(none) > kNotedPart ? fmt::format("; {:.0f} % have none", 100 * part(none)) : "");
  }
}

const std::vector<report::SourceLine>& CodeLines::of(CodePlace place) const {
  static const std::vector<report::SourceLine> none;
  const auto known = lines_.find(place);
  return known != lines_.end() ? known->second : none;
}

}  // namespace hwprof::observe
