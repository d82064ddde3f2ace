#include "src/observe/proc/trace_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/text.h"

namespace hwprof::observe {
namespace {

using Json = nlohmann::json;
using report::TraceSpan;
using Thread = std::pair<std::int64_t, std::int64_t>;  // process, thread

constexpr double kNsPerUs = 1e3;

std::int64_t whole(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

double microseconds(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_phase(const Json& event, const char* phase) {
  return event.is_object() && text(event, "ph") == phase;
}

// In how many others each is: of one thread, sorted by their starts, the longer of two first.
void nest(std::vector<TraceSpan>& spans) {
  std::sort(spans.begin(), spans.end(), [](const TraceSpan& a, const TraceSpan& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  std::vector<double> open;  // ends of those that have begun
  for (TraceSpan& span : spans) {
    while (!open.empty() && open.back() <= span.start_ns) open.pop_back();
    span.depth = open.size();
    open.push_back(span.start_ns + span.duration_ns);
  }
}

std::map<Thread, std::vector<TraceSpan>> calls_of(const Json& events) {
  std::map<Thread, std::string> names;
  std::map<Thread, std::vector<TraceSpan>> threads;
  for (const Json& event : events) {
    const auto thread = [&] { return Thread(whole(event, "pid"), whole(event, "tid")); };
    if (is_phase(event, "M") && text(event, "name") == "thread_name") {
      const auto arguments = event.find("args");
      if (arguments != event.end() && arguments->is_object())
        names[thread()] = text(*arguments, "name");
    } else if (is_phase(event, "X")) {
      threads[thread()].push_back({.name = text(event, "name"),
                                   .thread = {},
                                   .depth = 0,
                                   .start_ns = kNsPerUs * microseconds(event, "ts"),
                                   .duration_ns = kNsPerUs * microseconds(event, "dur")});
    }
  }
  for (auto& [thread, spans] : threads) {
    const std::string name = fmt::format("{} {}", names[thread], thread.second);
    for (TraceSpan& span : spans) span.thread = name;
  }
  return threads;
}

void keep_longest(std::vector<TraceSpan>& spans) {
  const auto last = spans.begin() + kMostSpans;
  std::nth_element(spans.begin(), last, spans.end(), [](const TraceSpan& a, const TraceSpan& b) {
    return a.duration_ns > b.duration_ns;
  });
  spans.erase(last, spans.end());
}

// Where slices of regions lie, by their starts: a slice that sticks out of the one around it, by
// what two clocks differ, would be drawn beside it.
using Slices = std::map<Thread, std::vector<std::pair<double, double>>>;  // start, end; ns

Slices slices_of(const Json& events) {
  Slices slices;
  for (const Json& event : events) {
    if (!is_phase(event, "X")) continue;
    const double start = kNsPerUs * microseconds(event, "ts");
    slices[{whole(event, "pid"), whole(event, "tid")}].emplace_back(
        start, start + kNsPerUs * microseconds(event, "dur"));
  }
  for (auto& [thread, all] : slices) std::sort(all.begin(), all.end());
  return slices;
}

// Of those around the middle of a call the last to begin is the innermost.
void keep_inside(const Slices& slices, const Thread& thread, double& start, double& end) {
  constexpr int kMostSteps = 10'000;
  const auto known = slices.find(thread);
  if (known == slices.end()) return;
  const double middle = (start + end) / 2;
  auto slice = std::upper_bound(known->second.begin(), known->second.end(),
                                std::pair(middle, std::numeric_limits<double>::infinity()));
  for (int i = 0; i < kMostSteps && slice != known->second.begin(); ++i) {
    --slice;
    if (slice->second < middle) continue;
    start = std::max(start, slice->first);
    end = std::min(end, slice->second);
    return;
  }
}

Json slice_of(const TraceSpan& call, const Thread& thread, double start, double end) {
  Json arguments = Json::object();
  if (call.region) arguments["region"] = *call.region;
  if (call.line) {
    arguments["line"] = fmt::format("{}:{}", call.line->file, call.line->line);
    arguments["function"] = call.line->function;
  }
  if (call.stack) arguments["stack"] = *call.stack;
  return {{"ph", "X"},
          {"name", call.name},
          {"cat", "BLAS"},
          {"pid", thread.first},
          {"tid", thread.second},
          {"ts", start / kNsPerUs},
          {"dur", (end - start) / kNsPerUs},
          {"args", std::move(arguments)}};
}

}  // namespace

std::optional<std::string> with_calls(const std::string& trace_json, const report::Called& called) {
  Json trace = Json::parse(trace_json, nullptr, false);
  if (!called.spans_begin_ns || !trace.is_object() || !trace.contains("traceEvents") ||
      !trace["traceEvents"].is_array())
    return std::nullopt;
  const Slices slices = slices_of(trace["traceEvents"]);
  std::uint64_t added = 0;
  for (const TraceSpan& call : called.spans) {
    const auto number = parse_unsigned(call.thread);
    if (!call.process || !number) continue;
    const Thread thread(*call.process, *number);
    double start = *called.spans_begin_ns + call.start_ns, end = start + call.duration_ns;
    keep_inside(slices, thread, start, end);
    trace["traceEvents"].push_back(slice_of(call, thread, start, end));
    ++added;
  }
  if (added == 0) return std::nullopt;
  trace["otherData"]["blas_calls"] = added;
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void add_spans(const std::string& trace_json, report::RegionTrace& to) {
  const Json trace = Json::parse(trace_json, nullptr, false);
  if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array())
    return;
  for (auto& [thread, spans] : calls_of(trace["traceEvents"])) {
    nest(spans);
    to.spans.insert(to.spans.end(), spans.begin(), spans.end());
  }
  if (const std::size_t all = to.spans.size(); all > kMostSpans) {
    keep_longest(to.spans);
    to.spans_note = fmt::format(
        "The {} longest of {} calls are drawn; the shortest of them takes {:.0f} ns.", kMostSpans,
        all,
        std::min_element(
            to.spans.begin(), to.spans.end(),
            [](const TraceSpan& a, const TraceSpan& b) { return a.duration_ns < b.duration_ns; })
            ->duration_ns);
  }
  std::sort(to.spans.begin(), to.spans.end(), [](const TraceSpan& a, const TraceSpan& b) {
    return std::tie(a.start_ns, a.depth) < std::tie(b.start_ns, b.depth);
  });
  if (to.spans.empty()) return;
  const double begin = to.spans.front().start_ns;
  to.spans_begin_ns = begin;
  for (TraceSpan& span : to.spans) span.start_ns -= begin;
}

}  // namespace hwprof::observe
