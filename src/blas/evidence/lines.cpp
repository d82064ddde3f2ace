#include "src/blas/evidence/lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/cores_in_calls.h"
#include "src/blas/evidence/executed.h"

namespace hwprof::blas {
namespace {

constexpr std::size_t kMostLines = 1000, kMostShapes = 32;
constexpr double kWorthSaying = 0.05;  // of the samples

using PreparedKey = std::tuple<std::string, std::string, std::string>;
using ShapeKey = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t, std::uint64_t,
                            bool, bool, bool, bool, PreparedKey>;
// Symbol, library, kernel, type.
using RoutineKey = std::tuple<std::string, std::string, std::string, std::string>;

// Calls of one routine and shape, wherever the table counts them, and all samples in them.
struct Counted {
  const observe::CallKind* kind = nullptr;
  double count = 0, time_ns = 0;
  observe::LineCalls samples;
  bool calls_others = false;  // its library does, so that their samples are not here
};
using CountedCalls = std::map<ShapeKey, Counted>;

ShapeKey key_of(const observe::CallKind& kind) {
  const report::CallShape shape = kind.shape.value_or(report::CallShape{});
  const report::PreparedCall prepared = kind.prepared.value_or(report::PreparedCall{});
  return {kind.symbol,
          kind.library,
          shape.m,
          shape.n,
          shape.k,
          shape.right,
          shape.row_major,
          shape.transposed_a,
          shape.transposed_b,
          {prepared.implementation, prepared.type, prepared.shape}};
}

using KindsByNumber = std::map<std::uint64_t, const observe::CallKind*>;

CountedCalls count_all(const observe::LineProfile& profile,
                       const std::vector<observe::CallKind>& kinds, const KindsByNumber& numbers) {
  CountedCalls all;
  const std::set<std::string> with_inner = libraries_that_call(profile, kinds);
  for (const observe::CallKind& kind : kinds) {
    Counted& counted = all[key_of(kind)];
    counted.calls_others = with_inner.contains(kind.library);
    counted.kind = &kind;
    counted.count += static_cast<double>(kind.count);
    counted.time_ns += kind.time_ns;
  }
  for (const observe::LineSamples& line : profile.lines) {
    for (const auto& [number, calls] : line.calls)
      if (const auto kind = numbers.find(number); kind != numbers.end())
        all[key_of(*kind->second)].samples += calls;
  }
  return all;
}

double part_of(double part, double whole, double or_part, double or_whole) {
  if (whole > 0) return part / whole;
  return or_whole > 0 ? or_part / or_whole : 0;
}

// A line's part of the calls of one routine and shape. Time: by the samples of the threads that
// called. Number: a sample falls into a call the likelier the longer it is.
report::CallShape part_of_line(const observe::LineCalls& line, const Counted& counted) {
  const observe::LineCalls& all = counted.samples;
  report::CallShape shape = counted.kind->shape.value_or(report::CallShape{});
  const double time = part_of(line.own_samples, all.own_samples, line.samples, all.samples);
  const double number = part_of(line.inverse_ns, all.inverse_ns, line.samples, all.samples);
  shape.count = static_cast<std::uint64_t>(counted.count * number + 0.5);
  shape.time_ns = counted.time_ns * time;
  return shape;
}

void name_server(const report::BlasEvidence& evidence, report::LineCall& call) {
  report::Provider provider = report::Provider::kNone;
  for (const report::LoadedLibrary& loaded : evidence.loaded)
    if (loaded.path == call.library) provider = loaded.provider;
  call.provider = report::to_text(provider);
  const report::ChosenCore* core = core_behind(evidence.chosen_cores, call.library, provider);
  if (core != nullptr) call.core = core->core;
}

template <class Item>
void most_share_first(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.share > b.share; });
}

struct RoutineOfLine {
  observe::LineCalls samples;
  double calls = 0, time_ns = 0, flops = 0, flops_time_ns = 0;
  bool calls_others = false;
  std::vector<report::CallShape> shapes;
};

std::vector<report::LineCall> calls_of(const observe::LineSamples& line, const CountedCalls& all,
                                       const KindsByNumber& numbers, double all_samples,
                                       double sampling_hz, const report::BlasEvidence& evidence) {
  std::map<ShapeKey, observe::LineCalls> by_shape;
  for (const auto& [number, calls] : line.calls)
    if (const auto kind = numbers.find(number); kind != numbers.end())
      by_shape[key_of(*kind->second)] += calls;
  std::map<RoutineKey, RoutineOfLine> routines;
  for (const auto& [key, samples] : by_shape) {
    const Counted& counted = all.at(key);
    const auto& [kernel, type, work] = std::get<PreparedKey>(key);
    RoutineOfLine& routine = routines[{counted.kind->symbol, counted.kind->library, kernel, type}];
    const report::CallShape shape = part_of_line(samples, counted);
    routine.samples += samples;
    routine.calls_others |= counted.calls_others;
    routine.calls += static_cast<double>(shape.count);
    routine.time_ns += shape.time_ns.value_or(0);
    if (counted.kind->flops) {
      routine.flops += *counted.kind->flops * static_cast<double>(shape.count);
      routine.flops_time_ns += shape.time_ns.value_or(0);
    }
    if (counted.kind->shape) routine.shapes.push_back(shape);
  }
  std::vector<report::LineCall> calls;
  for (auto& [key, routine] : routines) {
    report::LineCall call;
    std::tie(call.routine, call.library, call.kernel, call.type) = key;
    name_server(evidence, call);
    call.share = routine.samples.samples / all_samples;
    call.calls = static_cast<std::uint64_t>(routine.calls);
    call.time_ns = routine.time_ns;
    if (!routine.calls_others && routine.samples.samples >= kEnoughForCores && call.time_ns > 0)
      call.cores = routine.samples.samples / sampling_hz * 1e9 / call.time_ns;
    // Some calls without FLOP in a sum of those that have them would be a wrong rate.
    if (routine.flops > 0 && routine.flops_time_ns == routine.time_ns)
      call.gflops = routine.flops / routine.time_ns;
    call.shapes = std::move(routine.shapes);
    std::stable_sort(call.shapes.begin(), call.shapes.end(), [](const auto& a, const auto& b) {
      return a.time_ns.value_or(0) > b.time_ns.value_or(0);
    });
    if (call.shapes.size() > kMostShapes) call.shapes.resize(kMostShapes);
    calls.push_back(std::move(call));
  }
  most_share_first(calls);
  return calls;
}

// Who calls a BLAS that was installed without line information cannot change that.
std::string unlined_note(const observe::LineProfile& profile,
                         const report::BlasEvidence& evidence) {
  std::vector<std::string> names;
  double samples = 0;
  for (const auto& one : profile.unlined) {
    const std::string& path = one.first;
    const bool is_blas =
        std::any_of(evidence.loaded.begin(), evidence.loaded.end(), [&](const auto& loaded) {
          return loaded.path == path && loaded.provider != report::Provider::kNone;
        });
    if (is_blas || one.second < kWorthSaying * profile.samples) continue;
    names.push_back(path.substr(path.rfind('/') + 1));
    samples += one.second;
  }
  if (names.empty()) return "";
  return fmt::format(
      "build with -g: {:.0f} % of the samples lie in or under code without line information in {}",
      100 * samples / profile.samples, fmt::join(names, ", "));
}

}  // namespace

Lines lines_of(const observe::LineProfile& profile, const std::vector<observe::CallKind>& kinds,
               double sampling_hz, const report::BlasEvidence& evidence) {
  Lines result;
  const double all = std::max(profile.samples, 1.0);
  KindsByNumber numbers;
  for (const observe::CallKind& kind : kinds) numbers.emplace(kind.number, &kind);
  const CountedCalls counted = count_all(profile, kinds, numbers);
  for (const observe::LineSamples& line : profile.lines) {
    if (result.lines.size() == kMostLines) {
      result.known.notes.push_back(
          fmt::format("{} lines of less time are left out", profile.lines.size() - kMostLines));
      break;
    }
    report::LineUse use{.file = line.line.file,
                        .line = line.line.line,
                        .function = line.line.function,
                        .language = line.line.language,
                        .source = {},
                        .self_share = line.self / all,
                        .total_share = line.total / all,
                        .cpu_ns = 1e9 * line.self / sampling_hz,
                        .calls = calls_of(line, counted, numbers, all, sampling_hz, evidence),
                        .parts = {}};
    for (const auto& [what, samples] : line.parts) use.parts.push_back({what, samples / all});
    most_share_first(use.parts);
    result.lines.push_back(std::move(use));
  }
  result.known.coverage = profile.with_line / all;
  result.known.versions.assign(profile.versions.begin(), profile.versions.end());
  for (const auto& [reason, samples] : profile.without)
    result.known.gaps.push_back({reason, samples / all});
  most_share_first(result.known.gaps);
  result.known.notes.insert(result.known.notes.end(), profile.notes.begin(), profile.notes.end());
  if (std::string note = unlined_note(profile, evidence); !note.empty())
    result.known.notes.push_back(std::move(note));
  return result;
}

void add_line_peaks(std::vector<report::LineUse>& lines, double core_peak_gflops) {
  for (report::LineUse& line : lines)
    for (report::LineCall& call : line.calls)
      call.peak_fraction =
          call.gflops && call.cores
              ? share_of_peak(call.routine, *call.gflops, core_peak_gflops * *call.cores, call.type)
              : std::nullopt;
}

}  // namespace hwprof::blas
