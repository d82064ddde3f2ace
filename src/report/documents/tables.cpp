// The tables of a report. An absent number is "-" in its cell; its reason is collected, and each
// reason is said once below the table with the rows it holds for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr bool kFull = true;  // a column that the brief form leaves out

std::string peak_cell(const Row& row) {
  const double value = *row.peak_fraction * 100;
  if (!row.peak_fraction_low || !row.peak_fraction_high) return significant(value, 3);
  return with_interval(value, *row.peak_fraction_low * 100, *row.peak_fraction_high * 100);
}

std::string bound_cell(const Row& row) {
  if (!row.bound) return std::string(kAbsent);
  const bool level = row.bound == Bound::kMemory && !row.bandwidth_level.empty();
  const std::string_view bound = model::name_of(*row.bound);
  return level ? fmt::format("{} ({})", bound, row.bandwidth_level) : std::string(bound);
}

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

std::string shape_of(const Row& row) {
  std::vector<std::string> shape;
  for (const auto& [name, value] : row.shape) shape.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(shape, " "));
}

std::string group_of(const Row& row) {
  return fmt::format("{}  {}, {}", row.op, shape_of(row),
                     counted(static_cast<std::uint64_t>(row.threads), "thread"));
}

std::string peak_fraction_reason(const Profile& profile, const Row& row) {
  if (row.peak_fraction) return "";
  if (!row.gflops) return gflops_reason(row);
  return profile.peak ? row.reason : profile.peak_reason;
}

// Which library stands behind which of the variants that call one, where there are two.
std::string libraries_note(const std::vector<Row>& rows) {
  const auto library_of = [&rows](std::string_view prefix) -> std::string {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.variant.starts_with(prefix) && !row.library.empty();
    });
    return found != rows.end() ? found->library : "";
  };
  const std::string best = library_of("best-"), found = library_of("blas-");
  if (best.empty()) return "";
  // Without a BLAS no ladder is climbed.
  if (found.empty()) {
    return fmt::format(
        "best-: {}, which hwprof brings along, with the core type that it chooses itself; programs "
        "get no BLAS. In no pass.",
        best);
  }
  return fmt::format(
      "best-: {}, the fastest that was measured here, in no pass; blas-: {}, what programs get.",
      best, found);
}

Table operations_table(const Profile& profile) {
  Table table{.title = "Operations",
              .columns = {{"variant", true},
                          {"time\n(median)"},
                          {"time\n(min)", false, kFull},
                          {"wall\ntime", false, kFull},
                          {"% on\nCPU", false, kFull},
                          {"GFLOP/s"},
                          {"% of\nFMA peak"},
                          {"the same,\nundisturbed", false, kFull},
                          {"bound by", true},
                          {"% of\npass"},
                          {"max rel.\nerror", false, kFull},
                          {"% of\nroofline", false, kFull},
                          {"roofline\ntime", false, kFull},
                          {"FLOP/\nbyte", false, kFull},
                          {"FLOP\na call", false, kFull},
                          {"comparisons\na call", false, kFull},
                          {"bytes\na call", false, kFull},
                          {"cost units\na call", false, kFull},
                          {"timed\ncalls", false, kFull},
                          {"slices", false, kFull}},
              .rows = {},
              .notes = {}};
  Reasons reasons, brief, flags;
  std::set<std::uint64_t> checked;
  std::vector<std::string> undisturbed;
  bool interval = false;
  for (const Row& row : profile.rows) {
    const std::string name = name_of(row);
    const std::string dash(kAbsent);
    const auto& time = row.time_ns;
    if (!time) {
      reasons.add(given(row.reason), name);
      brief.add(given(row.reason), name);
    } else if (!row.gflops) {
      brief.add(gflops_reason(row), row.op + " (GFLOP/s, % of peak)");
    }
    interval = interval || (time && time->samples >= 2);
    if (row.max_rel_error) checked.insert(row.checked_documents);
    const std::string best = row.undisturbed && row.undisturbed->peak_fraction
                                 ? significant(100 * *row.undisturbed->peak_fraction, 3)
                                 : dash;
    if (best != dash) undisturbed.push_back(fmt::format("{} {}", name, best));
    if (!row.roofline_flag.empty()) flags.add(row.roofline_flag, name);
    const auto three = [](double value) { return significant(value, 3); };
    // A row without a time has one reason, not one for each number that would follow from it.
    const auto derived = [&](const std::optional<double>& value, auto format,
                             const std::string& what, const std::string& reason) {
      if (!value && !time) return dash;
      return cell(value, format, reasons, what, reason);
    };
    const std::string no_flop = row.model.flops == 0 ? row.op : name;
    table.rows.push_back(
        {group_of(row),
         {row.variant,
          work_cell(row),
          time ? duration(least_ns(row)) : dash,
          time_cell(time),
          row.on_cpu ? in_percent(*row.on_cpu) : dash,
          derived(row.gflops, three, no_flop + " (GFLOP/s, % of peak)", gflops_reason(row)),
          row.peak_fraction ? peak_cell(row)
          : row.gflops      ? cell(row.peak_fraction, three, reasons, "% of FMA peak",
                                   peak_fraction_reason(profile, row))
                            : dash,
          best,
          bound_cell(row),
          derived(row.forward_share, in_percent, name + " (% of pass)",
                  !row.pass.empty() ? row.reason
                  : profile.scaling ? "the passes are of the first number of threads"
                                    : "in none of the forward passes"),
          derived(row.max_rel_error, scientific, name + " (error)", error_reason(row)),
          derived(row.roofline_fraction, in_percent, "roofline", profile.peak_reason) +
              (row.roofline_flag.empty() ? "" : " (!)"),
          row.roofline_ns ? duration(*row.roofline_ns) : dash,
          row.model.flops > 0 ? significant(row.intensity.value_or(0), 3) : "0",
          si(row.model.flops, ""),
          si(row.model.comparisons, ""),
          binary_bytes(row.model.bytes),
          si(row.model.cost_units, ""),
          fmt::format("{}", row.calls),
          time ? fmt::format("{}", time->samples) : dash},
         fmt::format("/rows/{}", table.rows.size())});
  }
  if (interval) {
    table.notes.push_back(
        "time: CPU time of the thread, of several threads wall time without slices in which one "
        "waited for its CPU. ±: the longer side of the 95 % interval of the median of runs like "
        "this one: what its slices differ by, and what runs do. % of FMA peak: "
        "the median of the ratios of neighbouring pieces, not GFLOP/s over the peak above.");
    table.brief.emplace_back(
        "time: CPU time, of several threads wall time; ±: 95 % interval of the median of such "
        "runs");
  }
  if (!undisturbed.empty()) {
    table.notes.push_back(
        "undisturbed: over the best tenth of the pieces of work and of the peak; the rest of the "
        "time other programs used shared caches and memory.");
  }
  for (const std::string& flag : flags.sentences()) {
    table.notes.push_back("(!) more than 100 % of the roofline: " + flag);
  }
  if (!checked.empty()) {
    const std::string over = profile.layers
                                 ? "of the whole result, over its largest number"
                                 : fmt::format("over {} {}", fmt::join(checked, " or "),
                                               profile.training ? "images" : "documents");
    table.notes.push_back(
        fmt::format("max rel. error: against the reference in double precision, {}.", over));
  }
  append(table.notes, reasons.sentences());
  append(table.brief, brief.sentences());
  if (const std::string note = libraries_note(profile.rows); !note.empty()) {
    table.notes.push_back(note);
    table.brief.push_back(note);
  }
  if (!undisturbed.empty()) {
    table.brief.push_back(fmt::format("% of FMA peak undisturbed, over the best tenth: {}",
                                      fmt::join(undisturbed, ", ")));
  }
  return table;
}

Table passes_table(const Profile& profile) {
  Table table{.title = profile.training ? "Products of a training step" : "Forward passes",
              .columns = {{"pass", true}, {"time"}, {"layers", true}},
              .rows = {},
              .notes = {}};
  for (const ForwardPass& pass : profile.passes) {
    std::vector<std::string> layers;
    for (const auto& [op, variant] : pass.variants) {
      layers.push_back(fmt::format("{}: {}", op, variant));
    }
    table.rows.push_back(
        {"", {pass.name, duration(pass.time_ns), fmt::format("{}", fmt::join(layers, ", "))}});
  }
  return table;
}

Table complexity_table(const Complexity& complexity) {
  Table table{.title = "Complexity: ",
              .columns = {{"operation", true},
                          {"cost units\na call"},
                          {"% by\ncost units"},
                          {"% by\nroofline"},
                          {"%\nmeasured"},
                          {"times its\nceiling"}},
              .rows = {},
              .notes = {}};
  table.title += !complexity.agrees   ? "not judged"
                 : *complexity.agrees ? "time agrees with the cost analysis"
                                      : "time does NOT agree with the cost analysis";
  if (!complexity.pass.empty()) table.title += fmt::format(" (pass {})", complexity.pass);
  for (const ComplexityRow& row : complexity.rows) {
    const auto share = [](const std::optional<double>& value) {
      return value ? in_percent(*value) : std::string(kAbsent);
    };
    table.rows.push_back(
        {"",
         {row.op, si(row.cost_units, ""), in_percent(row.model_share), share(row.roofline_share),
          share(row.time_share),
          row.ceiling_factor ? significant(*row.ceiling_factor, 3) : std::string(kAbsent)}});
  }
  if (!complexity.text.empty()) table.notes.push_back(complexity.text);
  // The text has the first.
  for (std::size_t i = 1; i < complexity.findings.size(); ++i)
    table.notes.push_back(complexity.findings[i]);
  return table;
}

Table far_table(const Complexity& complexity) {
  Table table{.title = "Far from their ceiling",
              .columns = {{"variant", true}, {"times its\nceiling"}, {"measured causes", true}},
              .rows = {},
              .notes = {}};
  if (complexity.far.empty()) return table;
  for (const FarVariant& far : complexity.far) {
    Row row;
    row.op = far.op;
    row.shape = far.shape;
    table.rows.push_back({fmt::format("{}  {}", far.op, shape_of(row)),
                          {far.variant, significant(far.factor, 3),
                           far.causes.empty() ? "cause not measured"
                                              : fmt::format("{}", fmt::join(far.causes, "; "))}});
  }
  table.notes.push_back(
      "these variants do not change the answer on complexity. Measured are: the BLAS by its "
      "ladder, "
      "the copy of im2col alone, and the same calls on hardly any work.");
  return table;
}

namespace {

// What the numbers seem to say and do not.
std::vector<std::string> doubtful_speedups(const Scaling& scaling) {
  Reasons reasons;
  for (const ScalingRow& row : scaling.rows) {
    for (std::size_t i = 0; i < row.points.size(); ++i) {
      const ScalingPoint& point = row.points[i];
      const std::string name =
          fmt::format("{} {} on {}", row.op, row.variant, scaling.counts[i].threads);
      if (point.speedup_low && *point.speedup_low <= 1 && *point.speedup_high >= 1)
        reasons.add("its interval holds 1: no speed-up was shown", name);
      if (point.efficiency_low.value_or(0) > 1)
        reasons.add(
            "efficiency above 100 %: its share of the data fits a nearer cache, or the "
            "machine changed in between",
            name);
    }
  }
  return reasons.sentences();
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
      const auto ratio = [](const std::optional<double>& value, const std::optional<double>& low,
                            const std::optional<double>& high, double unit) {
        if (!value) return std::string(kAbsent);
        return low && high ? with_interval(*value * unit, *low * unit, *high * unit)
                           : significant(*value * unit, 3);
      };
      if (!point.cpu_shares_reason.empty())
        reasons.add(point.cpu_shares_reason, row.op + " " + row.variant + " (CPU share)");
      table.rows.push_back(
          {fmt::format("{} {}  {}", row.op, row.variant, row.shape),
           {fmt::format("{}", scaling.counts[i].threads),
            point.time_ns ? duration(*point.time_ns) : std::string(kAbsent),
            ratio(point.speedup, point.speedup_low, point.speedup_high, 1),
            ratio(point.efficiency, point.efficiency_low, point.efficiency_high, 100),
            shares_cell(point.cpu_shares)}});
    }
  }
  table.notes.push_back(fmt::format(
      "speed-up: against {} thread{}; efficiency: speed-up over how many times more threads. The "
      "numbers of threads were measured by turns: speed-up and ± are the mean of the turns' ratios "
      "and its 95 % interval; without ± there were fewer than three turns in which no thread "
      "waited "
      "for its CPU. CPU share: CPU time over elapsed time of each "
      "thread of the process, the BLAS's own included.",
      scaling.base_threads, scaling.base_threads == 1 ? "" : "s"));
  append(table.notes, doubtful_speedups(scaling));
  for (const ScalingCount& count : scaling.counts) {
    if (!count.oversubscribed) continue;
    table.notes.push_back(fmt::format(
        "{} threads share {}: oversubscribed, each gets a part of a CPU, and they wait for each "
        "other",
        std::max(count.threads, count.blas_threads), counted(scaling.cpus, "CPU")));
  }
  append(table.notes, reasons.sentences());
  table.brief = table.notes;
  return table;
}

}  // namespace hwprof::report
