// The calls of a BLAS, of LAPACK, oneDNN and FFTW that a program made: by whom, of which shapes,
// how much of the time in calls they took and how near they came to the peak.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kMostCalls = 12;  // in lines of text
constexpr std::size_t kMostShapes = 3;  // of one row

// LAPACK's have an m and an n: rows, and columns or right-hand sides.
std::string shapes_cell(const CallSite& site, bool with_k = true) {
  std::vector<std::string> parts;
  for (const CallShape& shape : site.shapes) {
    if (parts.size() == kMostShapes) break;
    std::string form = form_of(shape);
    if (!form.empty()) form += ", ";
    const std::string depth = with_k ? fmt::format("x{}", shape.k) : "";
    parts.push_back(fmt::format("{}x{}{} ({}{})", shape.m, shape.n, depth, form, shape.count));
  }
  const bool more = site.shapes.size() > parts.size() || site.calls_of_other_shapes > 0;
  if (parts.empty()) return std::string(kAbsent);
  return fmt::format("{}{}", fmt::join(parts, ", "), more ? ", ..." : "");
}

std::string time_of_calls(const std::optional<double>& time_ns) {
  return time_ns ? duration(*time_ns) : std::string(kAbsent);
}

std::string rate_of_calls(const std::optional<double>& gflops) {
  return gflops ? significant(*gflops, 3) : std::string(kAbsent);
}

std::string share_of_calls(const std::optional<double>& share) {
  return share ? in_percent(*share) : std::string(kAbsent);
}

std::string name_of_caller(const std::string& caller) {
  return caller.empty() ? "unknown" : file_name(caller);
}

std::string known_text(const std::string& text) {
  return text.empty() ? std::string(kAbsent) : text;
}

// What the shares of the calls below are of.
std::vector<std::string> calls_notes(const BlasEvidence& evidence) {
  const auto& calls = evidence.called.calls;
  const auto any = [&](auto member) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const CallSite& site) { return (site.*member).has_value(); });
  };
  std::vector<std::string> notes;
  if (any(&CallSite::time_share))
    notes.push_back(
        "% of time in calls: of the time inside all calls that were timed, threads added up");
  const auto peak = evidence.achieved_rate.core_peak_gflops;
  if (peak && any(&CallSite::peak_fraction))
    notes.push_back(
        fmt::format("% of peak: of {} GFLOP/s, float32 FMA of one core that worked in the calls; "
                    "of half of it for float64",
                    significant(*peak, 3)));
  return notes;
}

// What denormal numbers cost at most, where calls were made again to know it, or why it is not
// known.
void add_replays(const BlasEvidence& evidence, std::vector<std::string>& notes) {
  for (const CallSite& site : evidence.called.calls) {
    if (!site.denormal_replay) continue;
    const model::DenormalReplay& replay = *site.denormal_replay;
    if (!replay.operands_ratio || !replay.results_ratio) {
      notes.push_back(fmt::format("what denormal numbers cost {} is not known: {}", site.symbol,
                                  replay.reason));
      continue;
    }
    notes.push_back(
        fmt::format("{} made again as {} x {} x {} on one thread, {} rounds: {} times as long with "
                    "an operand of nothing but denormal numbers, {} times with products that all "
                    "are denormal",
                    site.symbol, replay.m, replay.n, replay.k, replay.rounds,
                    significant(*replay.operands_ratio, 2), significant(*replay.results_ratio, 2)));
  }
}

// What calls met, if they did: "denormal numbers were met in 9 of 10 calls (dgemv_)".
std::vector<std::string> number_notes(const BlasEvidence& evidence) {
  struct Kind {
    std::optional<std::uint64_t> CallNumbers::*count;
    std::optional<std::uint64_t> CallNumbers::*of;
    std::string_view what;
  };
  static constexpr Kind kKinds[] = {
      {&CallNumbers::denormal_calls, &CallNumbers::flag_calls,
       "denormal numbers were met in {} of {} calls of {}, by the flags of the calling thread: "
       "threads of the BLAS have their own"},
      {&CallNumbers::invalid_calls, &CallNumbers::flag_calls,
       "{} of {} calls of {} computed inf - inf or 0 x inf, or with a signalling NaN"},
      {&CallNumbers::nan_operands, &CallNumbers::sampled_operands,
       "NaN was in {} of {} sampled operands of {}"},
      {&CallNumbers::infinite_operands, &CallNumbers::sampled_operands,
       "infinity was in {} of {} sampled operands of {}"},
      {&CallNumbers::denormal_operands, &CallNumbers::sampled_operands,
       "denormal numbers were in {} of {} sampled operands of {}"},
  };
  std::vector<std::string> notes;
  for (const Kind& kind : kKinds) {
    std::uint64_t count = 0, of = 0;
    std::set<std::string> symbols;
    for (const CallSite& site : evidence.called.calls) {
      const std::uint64_t found = (site.numbers.*kind.count).value_or(0);
      if (found == 0) continue;
      count += found;
      of += (site.numbers.*kind.of).value_or(0);
      symbols.insert(site.symbol);
    }
    if (count > 0)
      notes.push_back(fmt::format(fmt::runtime(kind.what), count, of, fmt::join(symbols, ", ")));
  }
  add_replays(evidence, notes);
  return notes;
}

// One reason for both numbers is said once.
void add_reasons(const CallSite& site, Reasons& reasons) {
  const std::string& no_share = site.time_share_reason;
  const std::string& no_peak = site.peak_fraction_reason;
  if (!no_share.empty()) reasons.add(no_share, site.symbol);
  if (!no_peak.empty() && no_peak != no_share) reasons.add("no % of peak: " + no_peak, site.symbol);
}

}  // namespace

Table lapack_table(const BlasEvidence& evidence) {
  Table table{.title = "Calls of LAPACK, longest time first",
              .columns = {{"routine", true},
                          {"calls"},
                          {"time"},
                          {"GFLOP/s"},
                          {"served by", true},
                          {"called from", true},
                          {"m x n (calls)", true}},
              .rows = {},
              .notes = {},
              .most_rows = kMostCalls};
  for (const CallSite& site : evidence.called.lapack) {
    table.rows.push_back({"",
                          {site.symbol, fmt::format("{}", site.count), time_of_calls(site.time_ns),
                           rate_of_calls(gflops_of(site)), file_name(site.library),
                           name_of_caller(site.caller), shapes_cell(site, false)},
                          fmt::format("/blas/evidence/called/lapack/{}", table.rows.size())});
  }
  if (!table.rows.empty())
    table.notes.emplace_back("The calls of a BLAS that these make are among those above.");
  return table;
}

// `kernels`: the library names those that it chose.
Table prepared_table(const std::vector<PreparedCall>& calls, std::string title, std::string what,
                     bool kernels, const std::string& at) {
  Table table{.title = std::move(title),
              .columns = {{std::move(what), true},
                          {"calls"},
                          {"time"},
                          {"% of\nthis time"},
                          {"GFLOP/s"},
                          {"% of\npeak"}},
              .rows = {},
              .notes = {},
              .most_rows = kMostCalls};
  if (kernels) table.columns.push_back({"kernel", true});
  for (Column& column : std::vector<Column>{{"shape", true},
                                            {"numbers", true, kernels},
                                            {"served by", true, kernels},
                                            {"called from", true, kernels}})
    table.columns.push_back(std::move(column));
  Reasons reasons;
  for (const PreparedCall& call : calls) {
    const std::string name = call.kind.empty() ? "not known" : routine_of(call);
    if (!call.reason.empty()) reasons.add(call.reason, name);
    // What computes no products has no rate, as the docs say.
    if (rate_of(call) && !call.peak_fraction)
      reasons.add("no % of peak: " + given(call.peak_fraction_reason), name);
    std::vector<std::string> cells = {name,
                                      fmt::format("{}", call.count),
                                      time_of_calls(call.time_ns),
                                      share_of_calls(call.time_share),
                                      rate_of_calls(rate_of(call)),
                                      share_of_calls(call.peak_fraction)};
    if (kernels) cells.push_back(known_text(call.implementation));
    append(cells, {known_text(call.shape), known_text(call.type), file_name(call.library),
                   name_of_caller(call.caller)});
    table.rows.push_back(
        {"", std::move(cells), fmt::format("/blas/evidence/called/{}/{}", at, table.rows.size())});
  }
  append(table.notes, reasons.sentences());
  return table;
}

Table primitives_table(const BlasEvidence& evidence) {
  return prepared_table(evidence.called.primitives, "Primitives of oneDNN, longest time first",
                        "primitive", true, "primitives");
}

Table transforms_table(const BlasEvidence& evidence) {
  const auto& calls = evidence.called.transforms;
  Table table = prepared_table(calls, "Transforms of FFTW, longest time first", "transform", false,
                               "transforms");
  if (std::any_of(calls.begin(), calls.end(), [](const auto& call) { return rate_of(call); }))
    table.notes.emplace_back(
        "FLOP of a transform are those of the convention: 5 N log2 N of complex numbers, 2.5 N "
        "log2 "
        "N of real ones.");
  return table;
}

Table calls_table(const BlasEvidence& evidence) {
  Table table{.title = "Calls of a BLAS, most FLOP first",
              .columns = {{"routine", true},
                          {"calls"},
                          {"time"},
                          {"% of time\nin calls"},
                          {"GFLOP/s"},
                          {"% of\npeak"},
                          {"served by", true},
                          {"called from", true},
                          {"m x n x k (calls)", true}},
              .rows = {},
              .notes = {},
              .most_rows = kMostCalls};
  Reasons reasons;
  for (const CallSite& site : evidence.called.calls) {
    add_reasons(site, reasons);
    table.rows.push_back({"",
                          {site.symbol, fmt::format("{}", site.count), time_of_calls(site.time_ns),
                           share_of_calls(site.time_share), rate_of_calls(gflops_of(site)),
                           share_of_calls(site.peak_fraction), file_name(site.library),
                           name_of_caller(site.caller), shapes_cell(site)},
                          fmt::format("/blas/evidence/called/calls/{}", table.rows.size())});
  }
  append(table.notes, calls_notes(evidence));
  append(table.notes, number_notes(evidence));
  append(table.notes, reasons.sentences());
  return table;
}

// Where in the source a call came from: "train.py:12 forward".
std::string place_of(const TraceSpan& span) {
  if (!span.line) return std::string(kAbsent);
  return fmt::format("{}:{} {}", file_name(span.line->file), span.line->line, span.line->function);
}

Table longest_calls_table(const BlasEvidence& evidence) {
  const auto& spans = evidence.called.spans;
  Table table{.title = "Single calls, longest first",
              .columns = {{"call", true},
                          {"began"},
                          {"time"},
                          {"thread", true},
                          {"region", true},
                          {"called at", true}},
              .rows = {},
              .notes = {}};
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t rows = std::min(kMostCalls, order.size());
  const auto longer = [&](std::size_t a, std::size_t b) {
    return std::pair(spans[a].duration_ns, b) > std::pair(spans[b].duration_ns, a);
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rows), order.end(),
                    longer);
  order.resize(rows);
  for (const std::size_t at : order) {
    const TraceSpan& span = spans[at];
    table.rows.push_back({"",
                          {span.name, duration(span.start_ns), duration(span.duration_ns),
                           span.thread, known_text(span.region.value_or("")), place_of(span)},
                          fmt::format("/blas/evidence/called/spans/{}", at)});
  }
  if (spans.empty()) return table;
  table.notes.emplace_back("began: after the first call that was recorded");
  if (rows < spans.size())
    table.notes.push_back(
        fmt::format("{} of {} calls that were recorded one by one: JSON and --trace FILE have all",
                    rows, spans.size()));
  if (!evidence.called.lines_reason.empty())
    table.notes.push_back("no line of Python: " + evidence.called.lines_reason);
  return table;
}

}  // namespace hwprof::report
