// What a comparison says, before it gets a form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/base/format.h"
#include "src/base/text.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

std::string threshold_text(double threshold) { return fmt::format("{:g} %", 100 * threshold); }

// "conv1d simd 1.92 times, linear simd 1.31 times and 3 more": what `say` says of each.
template <class Say>
std::string named(const std::vector<const ComparedRow*>& rows, const Say& say) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> names;
  for (const ComparedRow* row : rows) {
    if (names.size() == kMost) break;
    names.push_back(row->label + " " + say(*row));
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (rows.size() > kMost) text += fmt::format(" and {} more", rows.size() - kMost);
  return text;
}

std::string times_text(const ComparedRow& row) { return significant(*row.ratio, 3) + " times"; }
std::string counts_text(const ComparedRow& row) {
  return fmt::format("{} -> {}", *row.baseline_count, *row.count);
}

// All rows of `file` with this verdict.
std::vector<const ComparedRow*> rows_with(const FileComparison& file, Change verdict) {
  std::vector<const ComparedRow*> found;
  for (const ComparedRow& row : file.rows)
    if (row.verdict == verdict) found.push_back(&row);
  return found;
}

// Of two runs a side the interval may span 80 powers of ten, which says no more than this.
std::string ratio_bound(double bound) {
  constexpr double kMost = 1000;
  if (bound > kMost) return fmt::format("above {}", kMost);
  if (bound < 1 / kMost) return fmt::format("below {}", 1 / kMost);
  return significant(bound, 3);
}

std::string ratio_cell(const std::optional<double>& ratio, const std::optional<double>& low,
                       const std::optional<double>& high) {
  if (!ratio) return std::string(kAbsent);
  const std::string middle = significant(*ratio, 3);
  return low && high ? fmt::format("{} [{}, {}]", middle, ratio_bound(*low), ratio_bound(*high))
                     : middle;
}

std::string runs_needed_text(const ComparedRow& row) {
  return row.runs_needed ? fmt::format("needs about {} runs a side", *row.runs_needed)
                         : std::string("needs more than 100 runs a side");
}

// "undecided: conv1d simd 1.24 [0.91, 1.37], needs about 12 runs a side"
std::string undecided_text(std::vector<const ComparedRow*> rows) {
  constexpr std::size_t kMost = 3;
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow* a, const ComparedRow* b) {
    return std::abs(std::log(*a->ratio)) > std::abs(std::log(*b->ratio));
  });
  std::vector<std::string> names;
  for (const ComparedRow* row : rows) {
    if (names.size() == kMost) break;
    names.push_back(fmt::format("{} {}, {}", row->label,
                                ratio_cell(row->ratio, row->ratio_low, row->ratio_high),
                                runs_needed_text(*row)));
  }
  std::string text = fmt::format("undecided: {}", fmt::join(names, "; "));
  if (rows.size() > kMost) text += fmt::format("; and {} more", rows.size() - kMost);
  return text;
}

// What is said of exact counts.
Headline counts_verdict(const FileComparison& file, const Comparison& comparison) {
  const auto more = rows_with(file, Change::kMore), fewer = rows_with(file, Change::kFewer),
             same = rows_with(file, Change::kSame),
             unknown = rows_with(file, Change::kNotComparable);
  const std::string what(model::name_of(*comparison.exact));
  const std::string beyond = comparison.threshold > 0
                                 ? " by more than " + threshold_text(comparison.threshold)
                                 : std::string();
  std::vector<std::string> parts;
  const auto count = [&file](const auto& rows) {
    return fmt::format("{} of {}", rows.size(), counted(file.rows.size(), "row"));
  };
  if (!more.empty())
    parts.push_back(fmt::format("{} executes more {}{}: {}", count(more), what, beyond,
                                named(more, counts_text)));
  if (!fewer.empty())
    parts.push_back(fmt::format("{} executes fewer {}{}: {}", count(fewer), what, beyond,
                                named(fewer, counts_text)));
  if (!same.empty()) {
    parts.push_back(comparison.threshold > 0
                        ? fmt::format("{} the same {} within {}", counted(same.size(), "row"), what,
                                      threshold_text(comparison.threshold))
                        : fmt::format("{} exactly the same {}", counted(same.size(), "row"), what));
  }
  if (!unknown.empty())
    parts.push_back(fmt::format("{} not comparable", counted(unknown.size(), "row")));
  return {sentence(fmt::format("{}", fmt::join(parts, "; "))), more.empty() && !parts.empty()};
}

// What is said of one file; bad: some row is slower, or nothing could be judged.
Headline verdict_on(const FileComparison& file, double threshold) {
  const auto slower = rows_with(file, Change::kSlower), faster = rows_with(file, Change::kFaster),
             same = rows_with(file, Change::kSame), undecided = rows_with(file, Change::kUndecided),
             clock = rows_with(file, Change::kClock),
             unknown = rows_with(file, Change::kNotComparable);
  if (!file.rows.empty() && unknown.size() == file.rows.size()) {
    return {fmt::format("not judged: {}", sentence(unknown.front()->reason)), false};
  }
  const auto rows = [](std::size_t count) { return counted(count, "row"); };
  std::vector<std::string> parts;
  if (!slower.empty()) {
    parts.push_back(fmt::format("{} of {} slower by more than {}: {}", slower.size(),
                                rows(file.rows.size()), threshold_text(threshold),
                                named(slower, times_text)));
  }
  if (!faster.empty()) {
    parts.push_back(fmt::format("{} of {} faster by more than {}: {}", faster.size(),
                                rows(file.rows.size()), threshold_text(threshold),
                                named(faster, times_text)));
  }
  if (!same.empty()) {
    parts.push_back(
        fmt::format("{} the same within {}", rows(same.size()), threshold_text(threshold)));
  }
  if (slower.empty() && faster.empty() && !undecided.empty()) {
    parts.push_back(
        fmt::format("no difference of more than {} was shown", threshold_text(threshold)));
  }
  if (!undecided.empty()) parts.push_back(undecided_text(undecided));
  if (!clock.empty()) {
    parts.push_back(fmt::format("{} only by the clock", rows(clock.size())));
  }
  if (!unknown.empty()) parts.push_back(fmt::format("{} not comparable", rows(unknown.size())));
  return {sentence(fmt::format("{}", fmt::join(parts, "; "))), slower.empty()};
}

// "a.json and 2 more"
std::string side_text(const ComparedFile& file) {
  return file.more.empty() ? file.path : fmt::format("{} and {} more", file.path, file.more.size());
}

std::string file_text(const ComparedFile& file) {
  std::string text = side_text(file);
  if (!file.schema.empty()) {
    text += " (" + file.schema;
    if (!file.started_utc.empty()) text += ", started " + file.started_utc;
    text += ")";
  }
  if (!file.command.empty()) text += ": " + shell_command(file.command);
  return text;
}

std::string duration_cell(const std::optional<double>& ns) {
  return ns ? duration(*ns) : std::string(kAbsent);
}

std::string p_cell(const std::optional<double>& p) {
  if (!p) return std::string(kAbsent);
  return *p < 0.001 ? scientific(*p) : significant(*p, 2);
}

}  // namespace

Headline headline(const Comparison& comparison) {
  Headline all{"", true};
  for (const FileComparison& file : comparison.files) {
    const Headline one = comparison.exact ? counts_verdict(file, comparison)
                                          : verdict_on(file, comparison.threshold);
    if (!all.text.empty()) all.text += ' ';
    all.text += fmt::format("{}: {}", side_text(file.file), one.text);
    all.good = all.good && one.good;
  }
  if (!comparison.stopped.empty())
    all.text += fmt::format(" Not to the end: {}.", comparison.stopped);
  return all;
}

std::vector<std::string> unmatched_rows(const FileComparison& file) {
  std::vector<std::string> out;
  for (const std::string& row : file.only_in_baseline)
    out.push_back("only in the baseline: " + row);
  for (const std::string& row : file.only_here) out.push_back("only in this file: " + row);
  return out;
}

namespace {

std::vector<Field> comparison_fields(const Comparison& comparison) {
  std::vector<Field> fields = {{"Baseline", file_text(comparison.baseline)}};
  for (const FileComparison& file : comparison.files) {
    fields.push_back({"Compared", file_text(file.file)});
  }
  return fields;
}

Table counts_table(const Comparison& comparison, const FileComparison& file, std::size_t index) {
  Table table{
      .title = fmt::format("{}, exactly: {} against {}", model::name_of(*comparison.exact),
                           side_text(file.file), side_text(comparison.baseline)),
      .columns =
          {{"row", true}, {"verdict", true}, {"baseline"}, {"other"}, {"difference"}, {"ratio"}},
      .rows = {},
      .notes = {}};
  Reasons reasons;
  const auto count_cell = [](const std::optional<std::uint64_t>& count) {
    return count ? fmt::format("{}", *count) : std::string(kAbsent);
  };
  for (const ComparedRow& row : file.rows) {
    if (!row.reason.empty()) reasons.add(row.reason, row.label);
    const std::string difference =
        row.baseline_count && row.count
            ? fmt::format("{:+}", static_cast<std::int64_t>(*row.count - *row.baseline_count))
            : std::string(kAbsent);
    table.rows.push_back({row.group,
                          {row.name, std::string(model::name_of(row.verdict)),
                           count_cell(row.baseline_count), count_cell(row.count), difference,
                           row.ratio ? fmt::format("{:.6f}", *row.ratio) : std::string(kAbsent)},
                          fmt::format("/files/{}/rows/{}", index, table.rows.size())});
  }
  if (!table.rows.empty()) {
    table.notes.push_back(
        fmt::format("Counts of one call, the same in every run of a program that does the same "
                    "(docs/exact.md): "
                    "each difference is one. More, fewer: beyond {}.",
                    threshold_text(comparison.threshold)));
  }
  append(table.notes, reasons.sentences());
  append(table.notes, unmatched_rows(file));
  return table;
}

Table changes_table(const Comparison& comparison, const FileComparison& file, std::size_t index) {
  Table table{
      .title = fmt::format("{} against {}", side_text(file.file), side_text(comparison.baseline)),
      .columns = {{"row", true},
                  {"verdict", true},
                  {"time ratio"},
                  {"baseline\n(median)"},
                  {"other\n(median)"},
                  {"ratio beside\nFMA peak", false, true},
                  {"p (Holm)"},
                  {"p", false, true},
                  {"samples", false, true}},
      .rows = {},
      .notes = {}};
  Reasons reasons;
  bool interval = false, beside_peak = false, open = false;
  for (const ComparedRow& row : file.rows) {
    if (!row.reason.empty()) reasons.add(row.reason, row.label);
    if (row.verdict == Change::kUndecided) {
      reasons.add("undecided: " + runs_needed_text(row), row.label);
      open = true;
    }
    interval = interval || row.ratio_low;
    beside_peak = beside_peak || row.peak_ratio;
    table.rows.push_back(
        {row.group,
         {row.name, std::string(model::name_of(row.verdict)),
          ratio_cell(row.ratio, row.ratio_low, row.ratio_high), duration_cell(row.baseline_ns),
          duration_cell(row.ns),
          ratio_cell(row.peak_ratio, row.peak_ratio_low, row.peak_ratio_high), p_cell(row.p_holm),
          p_cell(row.p), fmt::format("{}, {}", row.baseline_samples, row.samples)},
         fmt::format("/files/{}/rows/{}", index, table.rows.size())});
  }
  if (interval) {
    table.notes.push_back(fmt::format(
        "ratio: the other side over the baseline, above 1 is slower, with its 95 % interval {}. "
        "Slower or faster: the whole interval beyond {}, and p of a ratio of 1 below 0.05 after "
        "Holm's correction for {}. Same: the whole interval within {}. Undecided: neither.",
        comparison.by_turns ? comparison.slice_ms
                                  ? "from the ratios of runs that shared the CPU slice by slice"
                                  : "from the ratios of neighbouring runs"
                            : "between runs: of a single one a side, with what such runs differ by",
        threshold_text(comparison.threshold),
        counted(table.rows.size() * comparison.files.size(), "row"),
        threshold_text(comparison.threshold)));
  }
  if (beside_peak) {
    table.notes.push_back(
        "beside FMA peak: the same ratio of times in units of the FMA peak measured beside each "
        "slice, so without the clock. Where the time differs and that does not: clock.");
  }
  std::vector<std::string> missing = reasons.sentences();
  // Only programs' own times are taken by slices.
  if (comparison.by_turns && !comparison.slice_ms && file.file.schema.empty() && open) {
    missing.push_back(
        "--slice 10 lets both run at once, each stopped while the other has 10 ms: on a busy "
        "machine "
        "that decides with fewer runs, for programs that may run side by side");
  }
  append(missing, unmatched_rows(file));
  append(table.notes, missing);
  table.brief = std::move(missing);
  return table;
}

}  // namespace

Document comparison_document(const Comparison& comparison) {
  Document document{.title = fmt::format("hwprof compare: {}", side_text(comparison.baseline))};
  document.add(headline(comparison));
  document.in(Section::kComparison);
  if (!comparison.files.empty() && !comparison.exact)
    document.add(Chart{"comparison", "Time of each row over the baseline's, with its interval"});
  document.add(Fields{"", comparison_fields(comparison)});
  std::size_t index = 0;
  for (const FileComparison& file : comparison.files) {
    document.add(comparison.exact ? counts_table(comparison, file, index)
                                  : changes_table(comparison, file, index));
    ++index;
    Fields warnings = warnings_of(file.warnings);
    warnings.title = "Warnings on " + file.file.path;
    document.add(std::move(warnings));
  }
  return document;
}

}  // namespace hwprof::report
