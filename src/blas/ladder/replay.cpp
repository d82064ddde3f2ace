#include "src/blas/ladder/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/text.h"
#include "src/observe/routines/flop_count.h"

namespace hwprof::blas {
namespace {

using observe::Routine;
using observe::Shape;

constexpr std::size_t kMostCalls = 8;
constexpr double kEnough = 0.95;  // of the work
// A slow library takes half a second for it. Of a larger product only a part is made: fewer of its
// columns, since each takes the same time; a fast library needs some hundred to be fast.
constexpr double kMostFlops = 6e8;
constexpr unsigned long kFewestColumns = 256;
constexpr double kMostBytes = 256e6;
// What a call costs by itself, and FLOP on vectors, in FLOP of a matrix product.
constexpr double kCallFlops = 500, kVectorWeight = 10;

double bytes_of(const RoutineName& name, const Shape& shape) {
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
             k = static_cast<double>(shape.k);
  const double element = (name.type == 's' ? 4 : name.type == 'z' ? 16 : 8);
  return element * (m * k + k * n + m * n);
}

unsigned long part_of(unsigned long side, double share) {
  const auto part = static_cast<unsigned long>(static_cast<double>(side) * share);
  return std::min(side, std::max(kFewestColumns, part));
}

// A part of a call that is too long; its weight grows by what is left out.
void take_part(const Routine& routine, const RoutineName& name, double most_flops,
               ReplayCall& call) {
  const double whole = flop_count(routine, call.shape);
  const auto left = [&] { return most_flops / flop_count(routine, call.shape); };
  if (left() >= 1) return;
  Shape& shape = call.shape;
  if (routine.work == observe::Work::kHalf || routine.work == observe::Work::kHalfOfBoth) {
    shape.k = part_of(shape.k, left());
  } else {
    const bool right = (shape.form & observe::kRightSide) != 0;
    if (right) {
      shape.m = part_of(shape.m, left());
    } else if (shape.n > 1) {
      shape.n = part_of(shape.n, left());
    }
    if (name.operation == "gemm" && left() < 1) {
      shape.m = part_of(shape.m, std::sqrt(left()));
      shape.k = part_of(shape.k, left());
    }
  }
  call.weight *= whole / flop_count(routine, shape);
}

Shape shape_of(const report::CallShape& shape) {
  return {shape.m, shape.n, shape.k,
          (shape.row_major ? observe::kRowMajor : 0U) | (shape.right ? observe::kRightSide : 0U) |
              (shape.transposed_a ? observe::kTransposedA : 0U) |
              (shape.transposed_b ? observe::kTransposedB : 0U)};
}

struct PossibleCall {
  ReplayCall call;
  double work = 0;
};

}  // namespace

std::string_view replay_arguments(std::string_view operation) {
  using observe::routine_names::kOperations;
  const auto* const found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                         [&](const auto& each) { return each.name == operation; });
  return found != std::end(kOperations) && found->replayed ? found->arguments : "";
}

std::optional<RoutineName> parse_routine_name(std::string_view symbol) {
  Routine routine;
  if (!observe::find_routine(std::string(symbol).c_str(), routine) || !routine.blas) {
    return std::nullopt;
  }
  RoutineName name;
  name.c_interface = !routine.by_reference;
  if (symbol.starts_with("scipy_")) symbol.remove_prefix(6);
  if (name.c_interface) symbol.remove_prefix(6);  // cblas_
  // "sgemm_64_", "sgemm64_", "sgemm_", "cblas_sgemm_64"; the operations have no figure at their end
  // but 2: "ssyr2_64_".
  for (const std::string_view suffix : {"_64_", "64_", "_64", "_"}) {
    if (!symbol.ends_with(suffix)) continue;
    symbol.remove_suffix(suffix.size());
    break;
  }
  if (symbol.size() < 2) return std::nullopt;
  name.type = symbol.front();
  name.operation = symbol.substr(1);
  name.plain = name.c_interface ? "cblas_" + std::string(symbol) : std::string(symbol) + "_";
  return name;
}

std::optional<ReplayCall> replayable(const report::CallSite& site, const report::CallShape& shape,
                                     double most_flops) {
  Routine routine;
  const auto name = parse_routine_name(site.symbol);
  if (!name || !observe::find_routine(site.symbol.c_str(), routine)) return std::nullopt;
  ReplayCall call{site.symbol, shape_of(shape), static_cast<double>(shape.count)};
  if (replay_arguments(name->operation).empty() || flop_count(routine, call.shape) <= 0)
    return std::nullopt;
  take_part(routine, *name, most_flops, call);
  if (flop_count(routine, call.shape) > 4 * most_flops || bytes_of(*name, call.shape) > kMostBytes)
    return std::nullopt;
  return call;
}

Replay plan_replay(const report::Called& called) {
  Replay replay;
  std::vector<PossibleCall> candidates;
  double all = 0;
  bool unknown = false, timed = true;
  for (const report::CallSite& site : called.calls) timed = timed && site.time_ns.has_value();
  for (const report::CallSite& site : called.calls) {
    Routine routine;
    const auto name = parse_routine_name(site.symbol);
    if (!name || !observe::find_routine(site.symbol.c_str(), routine)) continue;
    const auto work_of = [&](double flops, double count) {
      return flops * (routine.timed ? 1 : kVectorWeight) + count * kCallFlops;
    };
    const double estimate = work_of(site.flops.value_or(0), static_cast<double>(site.count));
    if (!site.flops && !timed) unknown = true;
    const double unit = timed ? *site.time_ns / estimate : 1;
    all += estimate * unit;
    for (const report::CallShape& shape : site.shapes) {
      const auto call = replayable(site, shape, kMostFlops);
      if (!call) continue;
      const auto count = static_cast<double>(shape.count);
      const double work = work_of(flop_count(routine, shape_of(shape)) * count, count);
      candidates.push_back({*call, unit * work});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const PossibleCall& a, const PossibleCall& b) { return a.work > b.work; });
  for (PossibleCall& candidate : candidates) {
    if (replay.calls.size() == kMostCalls || replay.covered >= kEnough) break;
    replay.covered += candidate.work / all;
    replay.calls.push_back(std::move(candidate.call));
  }
  if (replay.calls.empty()) {
    replay.note =
        called.calls.empty() ? "no call was seen" : "no call has a shape to make it again";
  } else if (unknown) {
    replay.calls.clear();
    replay.note = "of some calls, neither shape nor time are known";
  } else if (replay.covered < 0.5) {
    replay.note = fmt::format("the calls that can be made again are {:.0f} % of the work",
                              100 * replay.covered);
    replay.calls.clear();
  } else {
    replay.note = fmt::format("{} {} made again, {:.0f} % of the {} in calls", replay.calls.size(),
                              replay.calls.size() == 1 ? "shape" : "shapes",
                              std::floor(100 * replay.covered + 1e-9), timed ? "time" : "work");
  }
  if (replay.calls.empty()) replay.covered = 0;
  return replay;
}

std::string replay_text(const std::vector<ReplayCall>& calls) {
  std::string text;
  for (const ReplayCall& call : calls) {
    text += fmt::format("{}{}:{}:{}:{}:{}:{:.0f}", text.empty() ? "" : ";", call.symbol,
                        call.shape.m, call.shape.n, call.shape.k, call.shape.form, call.weight);
  }
  return text;
}

std::optional<std::vector<ReplayCall>> parse_replay(const std::string& text) {
  std::vector<ReplayCall> calls;
  if (text.empty()) return calls;
  for (const std::string_view part : split(text, ';')) {
    const auto words = split(part, ':');
    if (words.size() != 6) return std::nullopt;
    const auto m = parse_unsigned(words[1]), n = parse_unsigned(words[2]),
               k = parse_unsigned(words[3]), form = parse_unsigned(words[4]),
               weight = parse_unsigned(words[5]);
    if (!m || !n || !k || !form || !weight) return std::nullopt;
    calls.push_back({std::string(words[0]),
                     {*m, *n, *k, static_cast<unsigned>(*form)},
                     static_cast<double>(*weight)});
  }
  return calls;
}

}  // namespace hwprof::blas
