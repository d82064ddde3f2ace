#include "src/model/comparison_record.h"

namespace hwprof::model {

template <>
const Record& record<ComparedFile>() {
  static constexpr Field kFields[] = {
      field<&ComparedFile::path>("path", "", "by turns: the command line").column("file"),
      field<&ComparedFile::more>("more", "", "other runs of the same side"),
      field<&ComparedFile::schema>("schema", "", "`hwprof.profile/1`"),
      field<&ComparedFile::started_utc>("started_utc", "", "ISO 8601").null_if_empty(),
      field<&ComparedFile::command>("command", "", "its words"),
  };
  static constexpr Record kRecord{"ComparedFile", "", kFields};
  return kRecord;
}

template <>
const Record& record<ComparedRow>() {
  static constexpr Field kFields[] = {
      field<&ComparedRow::label>("row", "", "where it stands alone: `conv1d simd`"),
      field<&ComparedRow::group>("group", "", "`conv1d  k=2 d_e=300, 1 thread`").column("group"),
      field<&ComparedRow::name>("name", "", "`simd`; group and name together identify it")
          .column("name"),
      field<&ComparedRow::verdict>("verdict", "", "on the difference").column("verdict"),
      field<&ComparedRow::reason>("reason", "", "why it is not comparable")
          .null_if_empty()
          .column("reason")
          .with(Field::kLastColumn),
      field<&ComparedRow::runs_needed>("runs_needed", "",
                                       "a side, to decide it; null: it is, or more than 100")
          .column("runs_needed"),
      field<&ComparedRow::ratio>("ratio", "",
                                 "of the medians, or of exact counts; above 1: slower, or more")
          .column("ratio"),
      interval<&ComparedRow::ratio_low, &ComparedRow::ratio_high>("ratio_ci95", "", "")
          .column("ratio_#"),
      field<&ComparedRow::p>("p", "", "of a ratio of 1: Welch's test, by turns Student's")
          .column("p"),
      field<&ComparedRow::p_holm>("p_holm", "", "corrected for all rows of the comparison")
          .column("p_holm"),
      field<&ComparedRow::baseline_ns>("baseline_ns", "ns", "median").column("baseline_ns"),
      field<&ComparedRow::ns>("ns", "ns", "median").column("ns"),
      field<&ComparedRow::baseline_count>("baseline_count", "", "of a comparison of exact counts")
          .column("baseline_count"),
      field<&ComparedRow::count>("count", "", "the same of the other side").column("count"),
      field<&ComparedRow::baseline_samples>("baseline_samples", "",
                                            "runs; of a single one its slices")
          .column("baseline_samples"),
      field<&ComparedRow::samples>("samples", "", "the same").column("samples"),
      field<&ComparedRow::peak_ratio>(
          "peak_ratio", "", "of times in units of the FMA peak beside each slice; null without it")
          .column("peak_ratio"),
      interval<&ComparedRow::peak_ratio_low, &ComparedRow::peak_ratio_high>("peak_ratio_ci95", "",
                                                                            "")
          .column("peak_ratio_#"),
  };
  static constexpr Record kRecord{"ComparedRow",
                                  "A time, or an exact count, of one row in both files.", kFields};
  return kRecord;
}

template <>
const Record& record<FileComparison>() {
  static constexpr Field kFields[] = {
      field<&FileComparison::file>("file", "", ""),
      field<&FileComparison::rows>("rows", "", "in the order of the baseline"),
      field<&FileComparison::only_in_baseline>("only_in_baseline", "", "names of rows"),
      field<&FileComparison::only_here>("only_here", "", "names of rows"),
      field<&FileComparison::warnings>("warnings", "", "`code` is what differs"),
  };
  static constexpr Record kRecord{"FileComparison", "", kFields};
  return kRecord;
}

template <>
const Record& record<Comparison>() {
  static constexpr Field kFields[] = {
      field<&Comparison::version>("hwprof.version", "", "of hwprof"),
      field<&Comparison::threshold>("threshold", "", "0.05: 5 %").column("threshold"),
      field<&Comparison::exact>("exact", "", "exact counts of what are compared; null: times")
          .column("exact"),
      field<&Comparison::by_turns>("by_turns", "", "runs of both sides one after the other"),
      field<&Comparison::slice_ms>("slice_ms", "ms",
                                   "by turns: both ran at once, each stopped while the other had a "
                                   "slice of so long; null: each run was whole"),
      field<&Comparison::stopped>("stopped", "", "by turns: why before the budget was used up")
          .null_if_empty(),
      field<&Comparison::verdict>("verdict", "", "the first line of the text"),
      field<&Comparison::baseline>("baseline", "", ""),
      field<&Comparison::files>("files", "", "each held against the baseline"),
  };
  static constexpr Record kRecord{"Comparison", "Reports held against the first of them.", kFields,
                                  "hwprof.compare/1"};
  return kRecord;
}

}  // namespace hwprof::model
