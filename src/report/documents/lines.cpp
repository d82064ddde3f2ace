// The lines of a program's source: how much of its CPU time each has, and what ran under it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

constexpr double kWorthARow = 0.005;  // of the program's CPU time
constexpr std::size_t kMostLines = 15, kMostShapesOfLine = 2;
constexpr std::size_t kLongestName = 34, kLongestSource = 44;  // in characters of a cell

std::string shortened(const std::string& text, std::size_t most) {
  if (display_width(text) <= static_cast<int>(most)) return text;
  return printable(text).substr(0, most - 3) + "...";
}

std::string shapes_text(const LineCall& call) {
  std::vector<std::string> shapes;
  for (const CallShape& shape : call.shapes) {
    if (shapes.size() == kMostShapesOfLine) return fmt::format("{}, ...", fmt::join(shapes, ", "));
    shapes.push_back(fmt::format("{}x{}x{}", shape.m, shape.n, shape.k));
  }
  return fmt::format("{}", fmt::join(shapes, ", "));
}

// "1200 calls, jit:avx512_core, 61.3 GFLOP/s, 72 % of peak"
std::string call_text(const LineCall& call) {
  std::string text = counted(call.calls, "call");
  if (!call.kernel.empty()) text += ", " + call.kernel;
  if (call.gflops) text += fmt::format(", {} GFLOP/s", significant(*call.gflops, 3));
  if (call.peak_fraction) text += fmt::format(", {} of peak", percent(*call.peak_fraction));
  return text;
}

void add_line(const LineUse& line, std::size_t place, Table& table) {
  const std::string at = fmt::format("/lines/{}", place);
  table.rows.push_back(
      {"",
       {shortened(fmt::format("{}:{} {}", file_name(line.file), line.line, line.function),
                  kLongestName),
        in_percent(line.self_share), in_percent(line.total_share),
        shortened(line.source.value_or(""), kLongestSource)},
       at});
  const auto under = [&](const std::string& what, double share, const std::string& text) {
    if (share >= kWorthARow)
      table.rows.push_back(
          {"", {shortened("- " + what, kLongestName), in_percent(share), "", text}, at});
  };
  for (const LineCall& call : line.calls) {
    const std::string shapes = shapes_text(call);
    under(call.routine + (shapes.empty() ? "" : " " + shapes), call.share, call_text(call));
  }
  // Where that is all, the line has said it.
  const bool alone = line.calls.empty() && line.parts.size() == 1;
  for (const LinePart& part : line.parts) {
    if (alone && part.what == "own code") continue;
    under(part.what == "Python" ? "Python itself" : part.what, part.share, "");
  }
}

// "sgemm_: libblas.so.3 (openblas, Haswell)", of the lines that are shown.
std::string served_text(const std::vector<LineUse>& lines) {
  std::set<std::string> served;
  for (const LineUse& line : lines) {
    for (const LineCall& call : line.calls) {
      if (call.share < kWorthARow) continue;
      const std::string core = call.core.empty() ? "" : ", " + call.core;
      served.insert(
          fmt::format("{}: {}{}", call.routine, file_name(call.library),
                      call.provider.empty() ? "" : fmt::format(" ({}{})", call.provider, core)));
    }
  }
  return fmt::format("{}", fmt::join(served, "; "));
}

// As much of it as there is: shares are of the rest.
std::string unsampled_text(const Run& run) {
  const double system_s = run.system_s.value_or(0);
  const double cpu_s = run.system_s && run.user_s ? system_s + *run.user_s : 0;
  return fmt::format(
      "the kernel's time{} is in no line: memory that is touched for the first time, files; root "
      "samples it, or kernel.perf_event_paranoid = 1",
      cpu_s > 0 ? fmt::format(" ({} of the CPU time)", percent(system_s / cpu_s)) : "");
}

}  // namespace

Table source_lines_table(const Run& run) {
  if (!run.lines_known) return {};
  const LinesKnown& known = *run.lines_known;
  Table table{.title = "CPU time by line",
              .columns = {{"line", true},
                          {"% of\nCPU time"},
                          {"% with\ncalls"},
                          {"source, or what ran", true}},
              .rows = {},
              .notes = {}};
  std::size_t shown = 0;
  for (std::size_t i = 0; i < run.lines.size() && shown < kMostLines; ++i) {
    if (std::max(run.lines[i].self_share, run.lines[i].total_share) < kWorthARow) continue;
    add_line(run.lines[i], i, table);
    ++shown;
  }
  const std::string versions =
      known.versions.empty() ? "" : fmt::format(" ({})", fmt::join(known.versions, ", "));
  table.notes.push_back(fmt::format("{} of the CPU time{} has a line{}", percent(known.coverage),
                                    known.user_mode ? " in user mode" : "", versions));
  if (known.user_mode) table.notes.push_back(unsampled_text(run));
  std::vector<std::string> gaps;
  for (const LineGap& gap : known.gaps)
    if (gap.share >= kWorthARow)
      gaps.push_back(fmt::format("{} {}", gap.reason, percent(gap.share)));
  if (!gaps.empty())
    table.notes.push_back(fmt::format("without a line: {}", fmt::join(gaps, "; ")));
  table.brief = table.notes;
  append(table.brief, known.notes);
  if (const std::string served = served_text(run.lines); !served.empty())
    table.notes.push_back(served);
  append(table.notes, known.notes);
  return table;
}

}  // namespace hwprof::report
