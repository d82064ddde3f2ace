#include "src/observe/proc/trace_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

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

}  // namespace

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
