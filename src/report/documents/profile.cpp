// `hwprof profile`: the most important truth first, then what was measured and on what, then the
// evidence.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/base/text.h"
#include "src/model/exact_point.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

// Of what the brief form has a line for, not a table.
std::vector<Field> brief_findings(const Profile& profile) {
  std::vector<Field> fields;
  const Complexity& complexity = profile.complexity;
  if (!complexity.text.empty()) {
    fields.push_back({"Complexity", complexity.text});
  }
  const std::string uncounted = no_counters(profile.rows);
  if (!uncounted.empty()) fields.push_back({"Counters", uncounted});
  ProfileBlas blas = profile.blas;
  if (blas.verdict != VerdictKind::kOptimal) blas.why.clear();  // the headline has it
  fields.push_back(brief_blas(blas));
  return fields;
}

// The user has looked at regions in another way than the default, or had more of them made.
bool regions_asked_for(const std::optional<Regions>& regions) {
  return regions && (!regions->view.sort.empty() || regions->view.group_by != GroupBy::kPath ||
                     regions->hidden > 0 || regions->trace);
}

// ", 43 % of the FMA peak": of all layers together. "" where a layer that computes has none.
std::string pass_peak_text(const Profile& profile, const ForwardPass& pass) {
  double time = 0, peak_time = 0;
  for (const Row& row : profile.rows) {
    if (!pass.has(row.op, row.variant)) continue;
    if (!row.time_ns || (row.gflops && !row.peak_fraction)) return "";
    time += row.time_ns->median;
    peak_time += row.time_ns->median * row.peak_fraction.value_or(0);
  }
  return peak_time > 0 ? fmt::format(", {} of the FMA peak", percent(peak_time / time)) : "";
}

std::string threads_text(const ThreadedPass& pass, int fewest) {
  const std::string on =
      fmt::format("Fastest forward pass: {}, {} on {}", pass.name, duration(pass.time_ns),
                  counted(static_cast<std::uint64_t>(pass.threads), "thread"));
  if (pass.threads == fewest) return on + "; more were no faster";
  return on + (pass.faster ? fmt::format(", {} times as fast as on {}",
                                         significant(pass.speedup, 2), fewest)
                           : fmt::format("; not told apart from {}", fewest));
}

// A winner only where one is separated from the rest.
std::string fastest_text(const Profile& profile, const std::vector<ForwardPass>& fastest) {
  if (profile.scaling) {
    const auto pass = fastest_threaded_pass(*profile.scaling, profile.passes);
    if (pass) return threads_text(*pass, profile.scaling->base_threads);
  }
  if (fastest.size() == 1) {
    return fmt::format("Fastest forward pass: {}, {}{}", fastest.front().name,
                       duration(fastest.front().time_ns), pass_peak_text(profile, fastest.front()));
  }
  std::vector<std::string> names, times;
  for (const ForwardPass& pass : fastest) {
    names.push_back(pass.name);
    times.push_back(duration(pass.time_ns));
  }
  return fmt::format("Fastest forward passes: {} and {} are not told apart ({})",
                     fmt::join(names.begin(), names.end() - 1, ", "), names.back(),
                     fmt::join(times, ", "));
}

// How fast it was; "" where nothing came of it.
std::string result_text(const Profile& profile) {
  if (profile.training) return training_headline(*profile.training);
  if (profile.layers) return layers_headline(profile);
  const std::vector<ForwardPass> fastest = fastest_passes(profile.passes);
  return fastest.empty() ? "" : fastest_text(profile, fastest) + ".";
}

// Of the layer with the most work: by a BLAS that programs here could have, and by loops. "" where
// none was measured.
std::string what_a_blas_would_do(const std::vector<Row>& rows) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (!row.variant.starts_with("best-") || !row.time_ns) continue;
    if (best == nullptr || row.model.flops > best->model.flops ||
        (row.model.flops == best->model.flops && least_ns(row) < least_ns(*best))) {
      best = &row;
    }
  }
  if (best == nullptr) return "";
  const auto loops = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.variant == "reference" && row.time_ns && row.op == best->op &&
           row.shape == best->shape;
  });
  if (loops == rows.end()) return "";
  return fmt::format(" {} takes {} with {}, which hwprof brings along, and {} by loops.", best->op,
                     work_cell(*best), best->library, work_cell(*loops));
}

bool has_exact_point(const Row& row) { return exact_gflops(row).has_value(); }

bool has_exact_points(const Profile& profile) {
  if (!profile.layers)
    return std::any_of(profile.rows.begin(), profile.rows.end(), has_exact_point);
  const std::vector<LayerRow>& layers = profile.layers->forms.front().layers;
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerRow& layer) { return has_exact_point(layer.row); });
}

// What the page draws; its sections have them before their tables.
void add_charts(const Profile& profile, Document& document) {
  const std::vector<Row>& rows = profile.rows;
  const bool rates =
      profile.peak && (profile.layers || std::any_of(rows.begin(), rows.end(), [](const Row& row) {
                         return row.gflops.has_value();
                       }));
  if (rates)
    document.in(Section::kRoofline)
        .add(Chart{
            "roofline",
            fmt::format(
                "Roofline: GFLOP/s against FLOP per byte of the model{}, below what "
                "this run measured of peak and bandwidth",
                has_exact_points(profile) ? " and, in rings, of the instructions executed" : "")});
  document.in(Section::kLayers);
  if (profile.training) document.add(Chart{"training", "Loss and accuracy by epoch, and phases"});
  if (profile.layers) {
    document.add(Chart{"layers", "Time of each layer, in the order of the network"});
    document.add(Chart{"layer-types", "Time by type of layer"});
  } else if (!rows.empty()) {
    document.add(Chart{"operations",
                       "Time of each operation and variant, with its share of the "
                       "FMA peak"});
  }
  if (profile.scaling) document.add(Chart{"scaling", "Speed-up by number of threads"});
  if (!profile.complexity.rows.empty())
    document.in(Section::kComplexity)
        .add(Chart{"complexity", "Share of each operation: by cost units, by roofline, measured"});
  if (profile.executed && !profile.executed->stacks.empty())
    document.in(Section::kHotspots)
        .add(Chart{"stacks", "Where the CPU time went, by sampled call stacks"});
  add_region_charts(profile.regions, document);
  add_ladder_chart(profile.blas, document);
  if (!rows.empty() || profile.layers)
    document.in(Section::kNoise)
        .add(Chart{"noise",
                   "Slices of one row in the order of measuring, and the FMA peak beside "
                   "them"});
}

// Of which passes, and how sure it is; or why there is nothing.
void add_samples(const Executed& executed, Document& document) {
  document.in(Section::kHotspots);
  if (!executed.reason.empty())
    document.add(Paragraph{sentence("No sample of the CPU time: " + executed.reason)},
                 Detail::kFull);
  Table files = files_table(executed);
  if (!files.rows.empty()) files.notes = executed.notes;
  document.add(std::move(files), Detail::kFull).add(symbols_table(executed), Detail::kFull);
}

}  // namespace

Headline headline(const Profile& profile) {
  const ProfileBlas& blas = profile.blas;
  if (blas.verdict == VerdictKind::kMissing) {
    return {fmt::format("{}: {}{}", verdict_heading(blas.verdict), sentence(blas.why),
                        what_a_blas_would_do(profile.rows)),
            false, blas.fix};
  }
  // Nothing is known against the BLAS: the result comes first.
  const std::string result = result_text(profile);
  if (blas.verdict == VerdictKind::kInconclusive && !result.empty()) {
    return {fmt::format("{} The BLAS is not judged: {}", result,
                        sentence(blas.why.empty() ? "no evidence was found" : blas.why)),
            true};
  }
  if (blas.verdict != VerdictKind::kOptimal) {
    std::string text = verdict_heading(blas.verdict) + ":";
    if (loses_surely(blas)) {
      text += fmt::format(" {} times faster is possible:", significant(*blas.factor, 2));
    }
    text += " " + sentence(blas.why.empty() ? "no evidence was found" : blas.why);
    return {text, false, blas.fix};
  }
  const std::string library(is_known(blas.provider) ? to_text(blas.provider) : "the library");
  const std::string optimal =
      fmt::format("BLAS optimal ({}{}{}).", library, blas.core.empty() ? "" : ", ", blas.core);
  if (result.empty()) {
    return {fmt::format("BLAS optimal: {}", sentence(blas.why.empty() ? library : blas.why)), true};
  }
  return {result + " " + optimal, true};
}

std::vector<Field> workload_fields(const Profile& profile) {
  const Workload& work = profile.workload;
  std::vector<std::string> shape;
  for (const auto& [name, value] : work.shape) shape.push_back(fmt::format("{}={}", name, value));
  const Field name{"Workload", fmt::format("{}, {}", work.name, fmt::join(shape, " "))};
  if (work.layers > 0) {
    return {{"Workload", fmt::format("{}; {}", name.text, counted(work.layers, "layer"))}};
  }
  if (profile.training) {
    std::vector<Field> fields = training_fields(*profile.training);
    fields.insert(fields.begin(), name);
    return fields;
  }

  std::string documents = fmt::format("{} of {}, {} to {} words, mean {}; {}", work.documents_used,
                                      work.documents_total, work.min_length, work.max_length,
                                      significant(work.mean_length, 4), work.documents);
  if (work.short_documents > 0) {
    documents += fmt::format("; {} shorter than the filter, padded with zeros to its width",
                             counted(work.short_documents, "document"));
  }
  const std::string padding = fmt::format(
      "{}: the convolution does {} times the work of unpadded documents; padding to the longest of "
      "the batch would make it {} times",
      model::name_of(work.padding), significant(work.padding_factor, 3),
      significant(work.batch_padding_factor, 3));
  return {name, {"Documents", documents}, {"Padding", padding}, {"Vectors", work.embedding}};
}

Document profile_document(const Profile& profile) {
  constexpr auto kBrief = Detail::kBrief, kFull = Detail::kFull;
  Document document{.title = fmt::format("hwprof profile: {}", profile.workload.name)};
  document.add(headline(profile));
  if (profile.partial) document.add(partial_remark());
  document.in(Section::kMachine).add(Paragraph{run_line(profile)}, kFull);
  document.add(Paragraph{shell_command(profile.command), Paragraph::Kind::kCommand}, kFull);
  document.add(Fields{"Machine", machine_fields(profile)}, kFull);
  document.add(Fields{"Workload", workload_fields(profile)}, kFull);
  add_charts(profile, document);
  std::vector<Field> brief = brief_machine(profile);
  brief.push_back(workload_fields(profile).front());
  document.add(Fields{"", brief}, kBrief);

  document.in(Section::kLayers);
  if (profile.training) {
    document.add(epochs_table(*profile.training)).add(phases_table(*profile.training));
  }
  const bool rows_first = !profile.layers && !profile.training;
  document.add(operations_table(profile), rows_first ? Detail::kBoth : kFull);
  document.in(Section::kRoofline).add(peers_table(profile.peers));
  document.in(Section::kNoise).add(repeats_table(profile));
  document.in(Section::kCounters);
  if (rows_first && no_counters(profile.rows).empty())
    document.add(brief_counters_table(profile), kBrief);
  document.add(counters_table(profile), kFull);
  std::vector<const Row*> rows;
  for (const Row& row : profile.rows) rows.push_back(&row);
  document.add(exact_table("Executed, counted exactly (a call)", "rows", rows))
      .add(exact_functions_table(profile.rows), kFull);
  add_layers(profile, document);
  document.in(Section::kLayers).add(passes_table(profile), kFull);
  if (profile.scaling) document.add(scaling_table(*profile.scaling));
  document.in(Section::kComplexity).add(complexity_table(profile.complexity), kFull);
  document.add(far_table(profile.complexity), kFull);
  if (profile.executed) add_samples(*profile.executed, document);
  document.in(Section::kRegions)
      .add(regions_table(profile.regions),
           regions_asked_for(profile.regions) ? Detail::kBoth : kFull);
  document.add(overhead_table(profile.regions));

  document.in(Section::kVerdict).add(Fields{"", brief_findings(profile)}, kBrief);
  document.add(Fields{"BLAS", blas_fields(profile.blas)}, kFull);
  document.in(Section::kLadder).add(ladder_table(profile.blas), kFull);
  document.in(Section::kNoise).add(warnings_of(profile.warnings));
  if (profile.partial) document.add(partial_remark());
  return document;
}

}  // namespace hwprof::report
