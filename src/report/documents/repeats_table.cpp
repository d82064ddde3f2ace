// Repeated calls as timeit prints them, and the times that stand out. The unit, its digits and the
// sentence are those of Python's timeit, so that the two can be held side by side.
#include <fmt/format.h>

#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"
#include "src/report/render/format.h"

namespace hwprof::report {
namespace {

// "1.23 msec": three digits, in the largest unit that leaves 1 or more before the point.
std::string timeit_duration(double ns) {
  constexpr struct {
    double ns;
    const char* name;
  } kUnits[] = {{1e9, "sec"}, {1e6, "msec"}, {1e3, "usec"}};
  for (const auto& unit : kUnits)
    if (ns >= unit.ns) return fmt::format("{:.3g} {}", ns / unit.ns, unit.name);
  return fmt::format("{:.3g} nsec", ns);
}

std::string timeit_sentence(const Row& row) {
  return fmt::format("{}, best of {}: {} per loop", counted(row.repeated->loops, "loop"),
                     row.time_ns->samples, timeit_duration(row.repeated->best_ns));
}

}  // namespace

Table repeats_table(const Profile& profile) {
  Table table{.title = "Repeats, as timeit prints them",
              .columns = {{"variant", true}, {"best of all", true}, {"median"}, {"outliers"}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  for (const Row& row : profile.rows) {
    if (!row.repeated || !row.time_ns) continue;
    const TimeNs& time = *row.time_ns;
    table.rows.push_back(
        {group_of(row),
         {row.variant, timeit_sentence(row),
          time.ci95_low ? duration_with_interval(time.median, *time.ci95_low, *time.ci95_high)
                        : duration(time.median),
          row.repeated->outliers_reason.empty() ? fmt::format("{}", row.repeated->outliers.size())
                                                : std::string(kAbsent)}});
    if (!row.repeated->outliers_reason.empty())
      reasons.add(row.repeated->outliers_reason, name_of(row) + " (outliers)");
    for (const Outlier& outlier : row.repeated->outliers) {
      table.notes.push_back(fmt::format("{}, repeat {}: {}, {} times the median; likely cause: {}",
                                        name_of(row), outlier.index + 1, duration(outlier.ns),
                                        significant(outlier.ns / time.median, 3), outlier.cause));
    }
  }
  if (!table.rows.empty()) {
    table.notes.insert(table.notes.begin(),
                       "best: the fastest repeat, a call; outliers: repeats beyond the median + 3 "
                       "sigma, with sigma from the median absolute deviation.");
  }
  append(table.notes, reasons.sentences());
  return table;
}

}  // namespace hwprof::report
