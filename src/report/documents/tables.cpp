// The tables of a report. An absent number is "-" in its cell; its reason is collected, and each
// reason is said once below the table with the rows it holds for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"
#include "src/report/render/format.h"

namespace hwprof::report {
namespace {

std::string in_percent(double fraction) { return significant(fraction * 100, 3); }

std::string time_cell(const TimeNs& time) {
  if (!time.ci95_low || !time.ci95_high) return duration(time.median);
  return duration_with_interval(time.median, *time.ci95_low, *time.ci95_high);
}

std::string peak_cell(const Row& row) {
  const double value = *row.peak_fraction * 100;
  if (!row.peak_fraction_low || !row.peak_fraction_high) return significant(value, 3);
  return with_interval(value, *row.peak_fraction_low * 100, *row.peak_fraction_high * 100);
}

std::string bound_cell(const Row& row) {
  if (row.bound.empty()) return std::string(kAbsent);
  const bool level = row.bound == "memory" && !row.bandwidth_level.empty();
  return level ? fmt::format("memory ({})", row.bandwidth_level) : row.bound;
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

std::string gflops_reason(const Row& row) {
  if (row.gflops) return "";
  if (!row.time_ns) return row.reason;
  return row.model.flops == 0 ? "its model has comparisons, but no FLOP" : row.reason;
}

std::string peak_fraction_reason(const Profile& profile, const Row& row) {
  if (row.peak_fraction) return "";
  if (!row.gflops) return gflops_reason(row);
  return profile.peak ? row.reason : profile.peak_reason;
}

std::string error_reason(const Row& row) {
  if (row.max_rel_error) return "";
  return row.checked_documents == 0 ? "not compared with the reference in double precision"
                                    : row.reason;
}

std::string counted_flops_reason(const Row& row) {
  if (row.counted_to_model_flops) return "";
  if (row.model.flops == 0) return "its model has comparisons, but no FLOP";
  for (const EventCount& count : row.counters) {
    if (count.name.rfind("flops", 0) == 0) return count.reason;
  }
  return "no flops event was asked for";
}

Table operations_table(const Profile& profile) {
  Table table{.title = "Operations",
              .columns = {{"variant", true},
                          {"time\n(median)"},
                          {"time\n(min)"},
                          {"GFLOP/s"},
                          {"% of\nFMA peak"},
                          {"bound by", true},
                          {"% of\npass"},
                          {"max rel.\nerror"},
                          {"% of\nroofline"},
                          {"roofline\ntime"},
                          {"FLOP/\nbyte"},
                          {"FLOP\na call"},
                          {"comparisons\na call"},
                          {"bytes\na call"},
                          {"cost units\na call"},
                          {"timed\ncalls"},
                          {"slices"}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  std::set<std::uint64_t> checked;
  bool interval = false;
  for (const Row& row : profile.rows) {
    const std::string name = name_of(row);
    const std::string dash(kAbsent);
    const auto& time = row.time_ns;
    if (!time) reasons.add(given(row.reason), name);
    interval = interval || (time && time->samples >= 2);
    if (row.max_rel_error) checked.insert(row.checked_documents);
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
         {row.variant, time ? time_cell(*time) : dash, time ? duration(time->min) : dash,
          derived(row.gflops, three, no_flop + " (GFLOP/s, % of peak)", gflops_reason(row)),
          row.peak_fraction ? peak_cell(row)
          : row.gflops      ? cell(row.peak_fraction, three, reasons, "% of FMA peak",
                                   peak_fraction_reason(profile, row))
                            : dash,
          bound_cell(row),
          derived(row.forward_share, in_percent, name + " (% of pass)",
                  !row.pass.empty() ? row.reason
                  : profile.scaling ? "the passes are of the first number of threads"
                                    : "in none of the forward passes"),
          derived(row.max_rel_error, scientific, name + " (error)", error_reason(row)),
          derived(row.roofline_fraction, in_percent, "roofline", profile.peak_reason),
          row.roofline_ns ? duration(*row.roofline_ns) : dash,
          row.model.flops > 0 ? significant(row.intensity, 3) : "0", si(row.model.flops, ""),
          si(row.model.comparisons, ""), binary_bytes(row.model.bytes),
          si(row.model.cost_units, ""), fmt::format("{}", row.calls),
          time ? fmt::format("{}", time->samples) : dash}});
  }
  if (interval) {
    table.notes.push_back(
        "±: the longer side of the 95 % interval of the median; % of FMA peak is the median of "
        "ratios of "
        "neighbouring slices, not GFLOP/s over the peak above.");
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
                          {"%\nmeasured"}},
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
    table.rows.push_back({"",
                          {row.op, si(row.cost_units, ""), in_percent(row.model_share),
                           share(row.roofline_share), share(row.time_share)}});
  }
  if (!complexity.text.empty()) table.notes.push_back(complexity.text);
  append(table.notes, complexity.findings);
  return table;
}

// Core type and, where its name does not say it, how it was chosen.
std::string rung_name(const LadderRung& rung) {
  if (rung.core.empty()) return rung.setting;
  const bool chosen_by_name = !rung.as_found && rung.setting != "auto";
  return chosen_by_name ? rung.core : fmt::format("{} ({})", rung.core, rung.setting);
}

Table ladder_table(const std::vector<LadderRung>& ladder, const std::string& note) {
  Table table{.title = "Ladder: the same sgemm on each rung, fastest first",
              .columns = {{"core type", true},
                          {"GFLOP/s"},
                          {"% of\nFMA peak"},
                          {"vectors", true},
                          {"library", true}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  for (const LadderRung& rung : ladder) {
    if (!rung.gflops || !rung.peak_fraction) {
      reasons.add(given(rung.reason), rung_name(rung));
    }
    const auto slash = rung.library.rfind('/');
    table.rows.push_back(
        {"",
         {rung_name(rung), rung.gflops ? significant(*rung.gflops, 3) : std::string(kAbsent),
          rung.peak_fraction ? in_percent(*rung.peak_fraction) : std::string(kAbsent),
          rung.vector_class.empty() ? std::string(kAbsent) : rung.vector_class,
          fmt::format(
              "{} {}", rung.provider,
              slash == std::string::npos ? rung.library : rung.library.substr(slash + 1))}});
  }
  if (!note.empty()) table.notes.push_back(note);
  append(table.notes, reasons.sentences());
  return table;
}

}  // namespace hwprof::report
