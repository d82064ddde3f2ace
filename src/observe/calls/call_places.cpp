#include "src/observe/calls/call_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostRegions = 10'000;
// Of a stack, in the JSON: a page has thousands of calls.
constexpr std::size_t kMostStackFunctions = 6;

std::string_view region_text(const char (&text)[audit::kRegionBytes]) {
  std::string_view found(text, ::strnlen(text, sizeof text));
  // It may begin inside a character: its front is cut off where there was no room.
  while (!found.empty() && (static_cast<unsigned char>(found.front()) & 0xc0U) == 0x80U)
    found.remove_prefix(1);
  return found;
}

// "train (train.py:12)"
std::string function_text(const report::SourceLine& line) {
  return fmt::format("{} ({}:{})", line.function, line.file.substr(line.file.rfind('/') + 1),
                     line.line);
}

std::string count_text(std::size_t count) {
  return count == 1 ? "1 call" : fmt::format("{} calls", count);
}

}  // namespace

std::uint32_t CallPlaces::region_number(std::string_view path) {
  if (path.empty()) return 0;
  if (const auto known = numbers_.find(path); known != numbers_.end()) return known->second;
  if (regions_.size() >= kMostRegions) return 0;
  regions_.emplace_back(path);
  const auto number = static_cast<std::uint32_t>(regions_.size());
  numbers_.emplace(path, number);
  return number;
}

KnownPlace CallPlaces::place(const audit::CallPlace& written) {
  if (written.process == 0) return {};
  KnownPlace place = {.region = region_number(region_text(written.region)),
                      .whole = written.whole != 0,
                      .process = written.process};
  const std::size_t count = std::min<std::size_t>(written.frame_count, audit::kCallFrames);
  place.read = count > 0;
  if (count == 0 || !stacks_.number) return place;
  std::array<CalledFunction, audit::kCallFrames> functions;
  std::transform(written.frames, written.frames + count, functions.begin(),
                 [](const audit::CalledFrame& frame) {
                   return CalledFunction{.code = frame.code,
                                         .instruction = frame.instruction & ~std::uint64_t{1},
                                         .from_c = (frame.instruction & 1) != 0};
                 });
  place.stack =
      stacks_.number(static_cast<pid_t>(written.process), std::span(functions).first(count));
  return place;
}

void CallPlaces::describe(const KnownPlace& place, report::TraceSpan& span) const {
  if (place.region > 0) span.region = regions_.at(place.region - 1);
  if (place.process > 0) span.process = place.process;
  if (place.stack == 0) return;
  const CallLines found = stacks_.lines(place.stack);
  if (found.lines.empty()) return;
  const report::SourceLine& line = found.lines.at(found.user);
  span.line = report::SpanLine{.file = line.file, .line = line.line, .function = line.function};
  std::vector<std::string>& stack = span.stack.emplace();
  for (const report::SourceLine& function : found.lines) {
    if (stack.size() == kMostStackFunctions) break;
    stack.push_back(function_text(function));
  }
}

std::string CallPlaces::why_no_lines(const std::vector<KnownPlace>& places) const {
  if (!stacks_.number) return "not read: --lines and files of stacks ask for them";
  std::size_t without = 0, gone = 0;
  for (const KnownPlace& place : places) {
    without += place.read ? 0 : 1;
    gone += place.read && place.stack == 0 ? 1 : 0;
  }
  std::string reason;
  const auto add = [&](std::size_t count, const char* why) {
    if (count > 0)
      reason += fmt::format("{}{} {}", reason.empty() ? "" : "; ", count_text(count), why);
  };
  add(without, "from threads without a function of a Python that hwprof knows");
  add(gone, "of a process that had gone on or ended before it was read");
  return reason;
}

}  // namespace hwprof::observe
