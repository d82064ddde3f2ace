#include "src/observe/samples/sample_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "src/base/clock.h"
#include "src/observe/samples/line_profile.h"

namespace hwprof::observe {
namespace {

// Enough for any pool of threads; ten thousand short processes must not fill memory.
constexpr std::size_t kMaximumThreads = 4096;
// Of CPU time, for judging loops. An interpreter leaves tens of thousands of instructions with a
// sample or two: the hottest are judged first.
constexpr double kJudgingNs = 2e9;
// Of stacks that end after one frame, from which on frame pointers are missing and not unused.
constexpr double kBrokenShare = 0.2;
// Of stacks that are not whole, or in which a caller was guessed, from which on to say so.
constexpr double kNotedShare = 0.02;

// CPython's function that runs those of a program; compilers split a part off, with this beginning.
constexpr const char* kEvaluates = "_PyEval_EvalFrameDefault";

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "train (train.py:12)"
std::string python_name(const report::SourceLine& line) {
  return fmt::format("{} ({}:{})", line.function, base_name(line.file), line.line);
}

}  // namespace

void SampleTable::add(CodePlace hit, int tid, std::uint64_t time_ns, std::uint64_t period_ns) {
  Hits& hits = hits_[hit];
  ++hits.samples;
  while (!recent_.empty() && recent_.front().time_ns + period_ns <= time_ns) recent_.pop_front();
  for (const Recent& other : recent_) {
    if (other.tid != tid && other.image == hit.image) ++hits.beside;
  }
  recent_.push_back({time_ns, tid, hit.image});
  if (hits.threads.size() < kMaximumThreads) hits.threads.insert(tid);
  ++samples_;
}

void SampleTable::add_end(const UnwoundStack& stack, CodePlace last) {
  ++unwound_;
  if (stack.end == StackEnd::kWhole) ++whole_;
  if (stack.end == StackEnd::kTooDeep) ++too_deep_;
  if (stack.end == StackEnd::kNoRule) ++ends_in_[last.image];
  if (std::any_of(stack.frames.begin(), stack.frames.end(),
                  [](const UnwoundFrame& frame) { return frame.guessed; }))
    ++guessed_;
}

void SampleTable::add_ends(SampleProfile& profile) {
  if (unwound_ == 0) return;
  const auto share = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(unwound_);
  };
  profile.whole_stacks = share(whole_);
  const auto worst =
      std::max_element(ends_in_.begin(), ends_in_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (worst != ends_in_.end() && share(worst->second) >= kNotedShare) {
    profile.notes.push_back(fmt::format(
        "{:.0f} % of the stacks end in {}: no unwind information says who called that code",
        100 * share(worst->second), base_name(images.path({worst->first, 0}))));
  }
  if (share(guessed_) >= kNotedShare) {
    profile.notes.push_back(
        fmt::format("{:.0f} % of the stacks pass through code without unwind information: its "
                    "caller is the first return address on the stack",
                    100 * share(guessed_)));
  }
  if (share(too_deep_) >= kNotedShare) {
    profile.notes.push_back(
        fmt::format("{:.0f} % of the stacks are deeper than hwprof follows: their outermost frames "
                    "are missing",
                    100 * share(too_deep_)));
  }
}

const std::string& SampleTable::symbol(CodePlace place) {
  const auto known = symbols_.find(place);
  if (known != symbols_.end()) return known->second;
  return symbols_.emplace(place, images.symbol(place)).first->second;
}

LoopJudgement SampleTable::judge(CodePlace place) {
  const auto known = judged_.find(place);
  if (known != judged_.end()) return known->second;
  if (thread_cpu_ns() >= judging_ends_ns_) return {};
  return judged_.emplace(place, images.judge(place)).first->second;
}

std::string SampleTable::frame_name(CodePlace place) {
  const std::string file = base_name(images.path(place));
  if (!Images::is_kernel(place)) {
    if (const std::string& name = symbol(place); !name.empty()) return name;
  }
  return file.starts_with('[') ? file : fmt::format("[{}]", file);
}

FrameKind SampleTable::kind(CodePlace place) {
  if (images.is_interpreter(place)) {
    return symbol(place).starts_with(kEvaluates) ? FrameKind::kEvaluates : FrameKind::kInterpreter;
  }
  return images.is_c_library(place) ? FrameKind::kCLibrary : FrameKind::kOther;
}

std::vector<MergedFrame> SampleTable::merged(std::span<const CodePlace> places,
                                             std::span<const StackedLine> python) {
  std::vector<FrameKind> kinds;
  kinds.reserve(places.size());
  for (const CodePlace place : places) kinds.push_back(kind(place));
  return merged_stack(kinds, python);
}

void SampleTable::add_spots(SampleProfile& profile, bool lines) {
  std::vector<std::pair<CodePlace, const Hits*>> by_heat;
  by_heat.reserve(hits_.size());
  for (const auto& [place, hits] : hits_) by_heat.emplace_back(place, &hits);
  std::stable_sort(by_heat.begin(), by_heat.end(), [](const auto& a, const auto& b) {
    return a.second->samples > b.second->samples;
  });

  using Key = std::tuple<std::string, std::string, LoopClass>;
  std::map<Key, HotSpot> spots;
  std::map<Key, std::set<int>> threads;
  std::map<std::tuple<std::string, int, std::string>, std::uint64_t> by_line;
  std::uint64_t unjudged = 0;
  judging_ends_ns_ = thread_cpu_ns() + kJudgingNs;
  for (const auto& [place, hits] : by_heat) {
    const LoopClass loop = judge(place).loop;
    if (!judged_.contains(place)) unjudged += hits->samples;
    const Key key{images.path(place), symbol(place), loop};
    const auto [found, added] = spots.try_emplace(key);
    HotSpot& spot = found->second;
    if (added) {  // the hottest of its kind comes first
      spot.path = std::get<0>(key);
      spot.symbol = std::get<1>(key);
      spot.file_offset = place.at;
      spot.loop = loop;
    }
    spot.samples += hits->samples;
    spot.beside += hits->beside;
    threads[key].insert(hits->threads.begin(), hits->threads.end());
    if (!lines) continue;
    if (const auto line = images.line(place)) {
      by_line[{line->file, line->line, symbol(place)}] += hits->samples;
    }
  }
  for (auto& [key, spot] : spots) {
    spot.threads.assign(threads[key].begin(), threads[key].end());
    profile.spots.push_back(std::move(spot));
  }
  std::stable_sort(profile.spots.begin(), profile.spots.end(),
                   [](const HotSpot& a, const HotSpot& b) { return a.samples > b.samples; });
  for (const auto& [line, samples] : by_line) {
    profile.lines.push_back({std::get<0>(line), std::get<1>(line), std::get<2>(line), samples,
                             static_cast<double>(samples) / static_cast<double>(samples_)});
  }
  std::stable_sort(
      profile.lines.begin(), profile.lines.end(),
      [](const report::HotLine& a, const report::HotLine& b) { return a.samples > b.samples; });
  if (unjudged > 0) {
    profile.notes.push_back(
        fmt::format("{} of {} samples lie in code too scattered to judge all of its loops",
                    unjudged, samples_));
  }
}

void SampleTable::add_stacks(const LineProfile& tallied, const LineStacks& python,
                             SampleProfile& profile) {
  std::map<std::vector<std::string>, std::uint64_t> named;  // different addresses, equal names
  std::uint64_t all = 0, single = 0;
  for (const auto& [numbers, samples] : tallied.stacks) {
    const NativeStack& stack = stacks.stack(numbers.first);
    const std::vector<StackedLine>& lines = python.lines_of(numbers.second);
    std::vector<std::string> frames;
    for (const MergedFrame& one : merged(stack.places, lines)) {
      frames.push_back(one.python ? python_name(python.line(lines[one.index].line))
                                  : frame_name(stack.places[one.index]));
    }
    frames.push_back(stack.process);
    std::reverse(frames.begin(), frames.end());
    named[std::move(frames)] += samples;
    all += samples;
    if (stack.places.size() == 1) single += samples;
  }
  for (const auto& [frames, samples] : named) profile.stacks.push_back({frames, samples});
  if (const std::string note = stacks.note(); !note.empty()) profile.notes.push_back(note);
  const double share = all > 0 ? static_cast<double>(single) / static_cast<double>(all) : 0;
  if (share > kBrokenShare && unwound_ == 0) {
    profile.notes.push_back(
        fmt::format("{:.0f} % of the stacks end after one frame: that code was built without frame "
                    "pointers (-fno-omit-frame-pointer keeps them)",
                    100 * share));
  }
}

std::string SampleTable::what_ran(CodePlace place) {
  const CodePlace in_program = images.in_program(place);
  if (in_program != CodePlace{} && judge(in_program).wait != Wait::kNone) return kWaiting;
  const std::string file = base_name(images.path(place));
  return images.is_interpreter(place) ? kPythonItself : file;
}

SampleProfile SampleTable::resolve(const SamplingOptions& options) {
  SampleProfile profile;
  profile.samples = samples_;
  add_spots(profile, options.lines);
  profile.threads = threads.resolve(images, [&](CodePlace place) { return judge(place); });
  add_ends(profile);
  profile.notes.insert(profile.notes.end(), images.notes().begin(), images.notes().end());
  return profile;
}

}  // namespace hwprof::observe
