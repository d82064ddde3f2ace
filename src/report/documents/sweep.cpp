// `hwprof sweep`: the verdict, then the exponents and a plot, then every point.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "src/base/format.h"
#include "src/base/text.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

std::string law_name(const ScalingLaw& law) {
  const std::string quantity = law.quantity == "flop"         ? "counted FLOP"
                               : law.quantity == "exact-flop" ? "FLOP, counted exactly,"
                                                              : law.quantity;
  return fmt::format("{} in {}{}{}", quantity, law.size, law.held.empty() ? "" : ", ", law.held);
}

std::string yes_or_no(const std::optional<bool>& agrees) {
  return !agrees ? std::string(kAbsent) : *agrees ? "yes" : "no";
}

std::string sizes_text(const std::vector<std::pair<std::string, std::uint64_t>>& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string swept_names(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const SweptSize& size : sweep.swept) names.push_back(size.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string point_name(const SweepPoint& point) {
  std::vector<std::uint64_t> sizes;
  for (const auto& [name, size] : point.at) sizes.push_back(size);
  return fmt::format("{}", fmt::join(sizes, ", "));
}

std::string three(double value) { return significant(value, 3); }

Headline sweep_headline(const Sweep& sweep) {
  const char* verdict = !sweep.agrees   ? "not judged whether the time agrees"
                        : *sweep.agrees ? "the time agrees"
                                        : "the time does NOT agree";
  std::string text = fmt::format("{} {}: {} with the complexity analysis in {}", sweep.op,
                                 sweep.variant, verdict, swept_names(sweep));
  for (const ScalingLaw& law : sweep.laws) {
    if (law.quantity != "time" || law.held == "joint" || !law.exponent) continue;
    text += fmt::format("; {0}^{1:.2f}, by the model {0}^{2:.2f}, from {0}={3} on", law.size,
                        *law.exponent, *law.model_exponent, law.from);
  }
  return {.text = text, .good = sweep.agrees.value_or(false), .judged = sweep.agrees.has_value()};
}

std::vector<Field> sweep_fields(const Sweep& sweep) {
  std::string operation = fmt::format("{} {}", sweep.op, sweep.variant);
  if (!sweep.asked.empty()) operation += fmt::format(" (asked for as {})", sweep.asked);
  std::vector<std::string> ranges;
  for (const SweptSize& size : sweep.swept)
    ranges.push_back(fmt::format("{} from {} to {}", size.name, size.low, size.high));
  std::vector<Field> fields = {
      {"Operation", operation},
      {"Sizes", sweep.held.empty() ? "all are swept" : sizes_text(sweep.held)},
      {"Swept",
       fmt::format("{}: {}", fmt::join(ranges, ", "), counted(sweep.points.size(), "point"))}};
  if (sweep.blas) {
    const std::vector<Field> blas = blas_fields(sweep.run.blas);
    // Without a ladder there is a verdict only where the library is a bad one by its name.
    for (const Field& field : blas) {
      const bool judged = sweep.run.blas.verdict != VerdictKind::kInconclusive;
      if (field.label == "Library" || field.label == "Path" ||
          (judged && (field.label == "Verdict" || field.label == "Fix"))) {
        fields.push_back(field);
      }
    }
  }
  return fields;
}

Table laws_table(const Sweep& sweep) {
  Table table{
      .title = "Exponents",
      .columns =
          {{"law", true}, {"measured"}, {"model"}, {"agrees", true}, {"from"}, {"to"}, {"points"}},
      .rows = {},
      .notes = {}};
  Reasons reasons;
  const std::string dash(kAbsent);
  for (const ScalingLaw& law : sweep.laws) {
    const bool fitted = law.exponent.has_value();
    if (!fitted) reasons.add(given(law.reason), law_name(law));
    table.rows.push_back(
        {"",
         {law_name(law), fitted ? with_interval(*law.exponent, *law.low, *law.high) : dash,
          fitted ? fmt::format("{:.3f}", *law.model_exponent) : dash, yes_or_no(law.agrees),
          fitted ? fmt::format("{}={}", law.size, law.from) : dash,
          fitted ? fmt::format("{}", law.to) : dash,
          fitted ? fmt::format("{}", law.points) : dash}});
    if (law.agrees != true && fitted)
      table.notes.push_back(fmt::format("{}: {}", law_name(law), law.text));
    for (const std::string& cause : law.causes) {
      const std::string where =
          law.agrees == true ? fmt::format("below {}={}", law.size, law.from) : std::string("why");
      table.notes.push_back(fmt::format("{}, {}: {}", law_name(law), where, cause));
    }
  }
  append(table.notes, reasons.sentences());
  table.brief = table.notes;
  table.notes.push_back(fmt::format(
      "±: the longer side of the 95 % interval, over points and slices. The model is fitted over "
      "the same sizes. A law agrees from the first size on from which all points lie on a line and "
      "the whole interval is within {0} of the model's exponent; it is refused where the whole "
      "interval is beyond, else not judged.",
      sweep.tolerance));
  return table;
}

Table points_table(const Sweep& sweep) {
  Table table{.title = "Points",
              .columns = {{swept_names(sweep)},
                          {"time\n(median)"},
                          {"time/\nmodel"},
                          {"GFLOP/s"},
                          {"% of\nFMA peak"},
                          {"bytes of\nthe model", false, true},
                          {"in", true},
                          {"max rel.\nerror", false, true},
                          {"model\ntime", false, true},
                          {"cost units\na call", false, true},
                          {"FLOP\na call", false, true},
                          {"timed\ncalls", false, true},
                          {"slices", false, true}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  const std::string dash(kAbsent);
  for (const SweepPoint& point : sweep.points) {
    const Row& row = point.row;
    const auto& time = row.time_ns;
    if (!time) reasons.add(given(row.reason), point_name(point));
    const std::string gflops =
        time ? cell(row.gflops, three, reasons, "GFLOP/s, % of peak", gflops_reason(row)) : dash;
    table.rows.push_back(
        {"",
         {point_name(point), work_cell(row),
          point.time_to_model ? three(*point.time_to_model) : dash, gflops,
          row.peak_fraction ? three(100 * *row.peak_fraction) : dash,
          binary_bytes(point.working_set_bytes), point.level.empty() ? dash : point.level,
          row.max_rel_error ? scientific(*row.max_rel_error) : dash,
          point.model_ns ? duration(*point.model_ns) : dash, si(row.model.cost_units, ""),
          si(row.model.flops, ""), fmt::format("{}", row.calls),
          time ? fmt::format("{}", time->samples) : dash},
         fmt::format("/points/{}", table.rows.size())});
  }
  table.notes = {
      "model time: cost units times the median time of one, over the points that agree, or over "
      "all where they do not."};
  append(table.notes, reasons.sentences());
  table.brief = reasons.sentences();
  return table;
}

Table sweep_counters_table(const Sweep& sweep) {
  Profile named = sweep.run;  // what stays is said once, above
  for (const SweepPoint& point : sweep.points) {
    named.rows.push_back(point.row);
    named.rows.back().shape = point.at;
  }
  return counters_table(named);
}

// Time against the first swept size; of two swept sizes each value of the second has a letter.
Plot plot_of(const Sweep& sweep) {
  if (sweep.swept.empty()) return {};
  Plot plot{fmt::format("time of a call against {}, both axes logarithmic", sweep.swept[0].name)};
  Series model{'.', "model"};
  std::map<std::uint64_t, Series> measured;
  for (const SweepPoint& point : sweep.points) {
    const auto& time = point.row.time_ns;
    if (!time || !point.model_ns) continue;
    const auto size = static_cast<double>(point.at[0].second);
    model.points.emplace_back(size, *point.model_ns);
    measured[sweep.swept.size() < 2 ? 0 : point.at[1].second].points.emplace_back(
        size, work_ns(point.row));
  }
  if (model.points.size() < 2) return {};
  plot.series.push_back(std::move(model));
  char letter = 'a';
  for (auto& [size, series] : measured) {
    const bool only = sweep.swept.size() < 2;
    series.mark = only ? 'o' : letter;
    series.name = only ? "measured" : fmt::format("{}={}", sweep.swept[1].name, size);
    if (letter != 'z') ++letter;
    plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace

Document sweep_document(const Sweep& sweep) {
  constexpr auto kBrief = Detail::kBrief, kFull = Detail::kFull;
  Document document{.title = fmt::format("hwprof sweep: {} {}", sweep.op, sweep.variant)};
  document.add(sweep_headline(sweep));
  if (sweep.run.partial) document.add(partial_remark());
  document.in(Section::kMachine);
  document.add(Paragraph{run_line(sweep.run)}, kFull);
  document.add(Paragraph{shell_command(sweep.run.command), Paragraph::Kind::kCommand}, kFull);
  document.add(Fields{"Machine", machine_fields(sweep.run)}, kFull);
  document.add(Fields{"Sweep", sweep_fields(sweep)}, kFull);
  std::vector<Field> brief = brief_machine(sweep.run);
  for (const Field& field : sweep_fields(sweep))
    if (field.label == "Operation" || field.label == "Sizes") brief.push_back(field);
  document.add(Fields{"", brief}, kBrief);
  document.in(Section::kComplexity);
  if (!sweep.points.empty())
    document.add(Chart{"sweep",
                       "Time of a call against its size, both axes logarithmic, with the "
                       "model's, and their ratio below"});
  document.add(laws_table(sweep));
  document.add(plot_of(sweep), kFull);
  document.add(points_table(sweep));
  document.in(Section::kCounters).add(sweep_counters_table(sweep), kFull);
  document.in(Section::kNoise);
  if (!sweep.points.empty())
    document.add(Chart{"noise",
                       "Slices of one point in the order of measuring, and the FMA peak "
                       "beside them"});
  document.add(warnings_of(sweep.run.warnings));
  return document;
}

}  // namespace hwprof::report
