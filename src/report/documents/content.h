// The pieces that documents are made of: sentences, fields and tables of a record. Internal to
// src/report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/comparison_record.h"
#include "src/model/regions_record.h"
#include "src/model/run_record.h"
#include "src/model/sweep_record.h"
#include "src/report/document.h"

namespace hwprof::report {

// "N times faster is possible": only where the verdict says that it is sure.
inline bool loses_surely(const Verdict& blas) {
  constexpr double kWorthSaying = 1.05;
  return blas.factor.value_or(1) > kWorthSaying && blas.verdict != VerdictKind::kOptimal &&
         blas.verdict != VerdictKind::kBorderline;
}

// content.cpp: what several commands say.
std::string run_line(const Profile& profile);  // version, start, duration
std::string machine_text(const Machine& machine);
std::string pmu_text(const Machine& machine);
std::string cpus_in_words(const CpuList& cpus);  // "CPUs 0,2-3"
std::string upper(std::string_view text);
// "BLAS SUBOPTIMAL", "WRONG RESULTS": a verdict at the head of a report.
std::string verdict_heading(VerdictKind verdict);
std::string sentence(std::string text);          // with its full stop
std::string file_name(const std::string& path);  // without its folders
std::string in_percent(double fraction);         // without the unit: 43.1
// "1.83 ms", with its interval where it has one; "-" where it is absent.
std::string time_cell(const std::optional<TimeNs>& time);
// On the clock that counts: CPU time, of several threads wall time.
std::string work_cell(const Row& row);
std::vector<Field> machine_fields(const Profile& profile);
std::vector<Field> blas_fields(const ProfileBlas& blas);
// The two fields that the brief form has of the machine, and the one of the BLAS.
std::vector<Field> brief_machine(const Profile& profile);
Field brief_blas(const ProfileBlas& blas);
Fields warnings_of(const std::vector<Warning>& warnings);
// The fastest rung and that of the library as found; empty where none was measured.
std::string ladder_text(const std::vector<LadderRung>& ladder);
// `at`: JSON pointer to what has the ladder.
Table ladder_table(const JudgedBlas& blas, std::string_view at = "/blas");
Paragraph partial_remark();
// Charts of the page, where there is something to draw.
void add_ladder_chart(const JudgedBlas& blas, Document& document);
// Whether calls of a BLAS stand in the timeline of regions: both are there, on one clock.
bool is_one_timeline(const std::optional<Regions>& regions, const Called& called);
void add_region_charts(const std::optional<Regions>& regions, Document& document,
                       bool with_calls = false);

// profile.cpp, tables.cpp
// The most important truth: what is wrong with the BLAS, else how fast the forward pass is.
Headline headline(const Profile& profile);
std::vector<Field> workload_fields(const Profile& profile);
Table operations_table(const Profile& profile);
Table passes_table(const Profile& profile);
Table complexity_table(const Complexity& complexity);
Table far_table(const Complexity& complexity);  // empty: none is
Table scaling_table(const Scaling& scaling);
std::string shape_of(const Row& row);  // "k=2 d_e=300"
std::string group_of(const Row& row);  // operation, shape and threads: what variants share
// peers.cpp: of bench/, beside the rows; empty where there are none.
Table peers_table(const std::optional<Peers>& peers);
// Why `row` has no such number; empty where it has one.
std::string peak_fraction_reason(const Profile& profile, const Row& row);

// calls.cpp
Table calls_table(const BlasEvidence& evidence);
Table lapack_table(const BlasEvidence& evidence);
Table primitives_table(const BlasEvidence& evidence);
Table transforms_table(const BlasEvidence& evidence);
Table longest_calls_table(const BlasEvidence& evidence);

// modules.cpp: by name or by type; empty where they were not asked for.
Table modules_table(const Run& run, const std::vector<Module>& modules, bool types);

// hotspots.cpp
std::string symbol_cell(const std::string& symbol);  // "(no symbol)" for none
Table files_table(const Executed& executed);
Table symbols_table(const Executed& executed);
Table lines_table(const Executed& executed);

// lines.cpp
Table source_lines_table(const Run& run);

// repeats.cpp: of `hwprof profile --repeat`; of `hwprof run --repeat`, times and what stands out.
Table repeats_table(const Profile& profile);
Table repeats_table(const Repeats& repeats);
Table outliers_table(const Repeats& repeats);

// fix.cpp: of --try-fix and --try; each empty where nothing was tried.
std::vector<Headline> fix_headlines(const Fix& fix);
Table fix_table(const Fix& fix);

// exact.cpp: of --exact; each empty where it was not given. `list`: where `rows` stand in the JSON.
Table exact_table(const std::string& title, const std::string& list,
                  const std::vector<const Row*>& rows);
Table exact_functions_table(const std::vector<Row>& rows);

// exact_calls.cpp: of `run --exact`; each empty where it was not given.
std::vector<Headline> exact_headlines(const Run& run);
Table exact_calls_table(const Run& run);
Table exact_call_functions_table(const Run& run);

// counters.cpp
Table counters_table(const Profile& profile);
// Of the fastest variant of each operation alone.
Table brief_counters_table(const Profile& profile);
// The same for other rows: `head` gives the group of a row and its first cell.
Table counters_table(const std::string& title, const std::vector<const Row*>& rows,
                     const std::function<TableRow(const Row&)>& head);
// Events that a PMU would count, and why none was; empty where some was.
std::string no_counters(const std::vector<Row>& rows);

// layers.cpp: a network of layers, its forms, the layers of the first, their counters and types,
// and another table's times beside ours.
void add_layers(const Profile& profile, Document& document);
std::string layers_headline(const Profile& profile);  // how fast an inference is

// training.cpp: what training came to, for the headline; what is trained on what; epoch by epoch;
// where the time goes.
std::string training_headline(const Training& training);
std::vector<Field> training_fields(const Training& training);
Table epochs_table(const Training& training);
Table phases_table(const Training& training);

// comparison.cpp: the rows that are slower, else what else there is to say.
Headline headline(const Comparison& comparison);
// Rows that only one of the files has, a sentence each.
std::vector<std::string> unmatched_rows(const FileComparison& file);

// What a report says of regions: a table as PyTorch's profiler prints it, the same as JSON and CSV.
std::string to_string(GroupBy group_by);
// "forward / conv1d"; of a group its name.
std::string path_of(const Region& row);

// Nothing to say where there are no regions.
Table regions_table(const std::optional<Regions>& regions);
Table overhead_table(const std::optional<Regions>& regions);

}  // namespace hwprof::report
