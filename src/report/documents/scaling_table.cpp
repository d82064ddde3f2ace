// Several numbers of threads side by side: a line for each, the first one first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"
#include "src/report/render/format.h"

namespace hwprof::report {
namespace {

// "99 %, 98 %", and of many equal ones "8 x 99 %".
std::string shares_cell(const std::vector<double>& shares) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shares.size();) {
    const std::string text = fmt::format("{:.0f} %", 100 * shares[i]);
    std::size_t end = i;
    while (end < shares.size() && fmt::format("{:.0f} %", 100 * shares[end]) == text) ++end;
    parts.push_back(end - i > 1 ? fmt::format("{} x {}", end - i, text) : text);
    i = end;
  }
  return parts.empty() ? std::string(kAbsent) : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Table scaling_table(const Scaling& scaling) {
  Table table{.title = "Threads side by side",
              .columns = {{"threads", true},
                          {"time\n(median)"},
                          {"speed-up"},
                          {"efficiency\n(%)"},
                          {"CPU share of each thread", true}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  for (const ScalingRow& row : scaling.rows) {
    for (std::size_t i = 0; i < row.points.size(); ++i) {
      const ScalingPoint& point = row.points[i];
      const auto three = [](const std::optional<double>& value, double unit) {
        return value ? significant(*value * unit, 3) : std::string(kAbsent);
      };
      if (!point.cpu_shares_reason.empty())
        reasons.add(point.cpu_shares_reason, row.op + " " + row.variant + " (CPU share)");
      table.rows.push_back(
          {fmt::format("{} {}  {}", row.op, row.variant, row.shape),
           {fmt::format("{}", scaling.counts[i].threads),
            point.time_ns ? duration(*point.time_ns) : std::string(kAbsent),
            three(point.speedup, 1), three(point.efficiency, 100), shares_cell(point.cpu_shares)}});
    }
  }
  table.notes.push_back(fmt::format(
      "speed-up: against {} thread{}; efficiency: speed-up over how many times more threads. CPU "
      "share: CPU time over elapsed time of each thread of the process, the BLAS's own included.",
      scaling.base_threads, scaling.base_threads == 1 ? "" : "s"));
  for (const ScalingCount& count : scaling.counts) {
    if (!count.oversubscribed) continue;
    table.notes.push_back(fmt::format(
        "{} threads share {}: oversubscribed, each gets a part of a CPU, and they wait for each "
        "other",
        std::max(count.threads, count.blas_threads), counted(scaling.cpus, "CPU")));
  }
  append(table.notes, reasons.sentences());
  return table;
}

}  // namespace hwprof::report
