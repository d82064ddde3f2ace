// What `hwprof compare` found out: reports held against the first of them, row by row.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/record.h"

namespace hwprof::model {

// One side: a file, or several runs of the same.
struct ComparedFile {
  std::string path;               // of the first; by turns the command line
  std::vector<std::string> more;  // of the others
  std::string schema;             // "hwprof.profile/1"
  std::string started_utc;
  std::vector<std::string> command;
};

enum class Change { kSame, kFaster, kSlower, kUndecided, kClock, kMore, kFewer, kNotComparable };

template <>
struct EnumNames<Change> {
  static constexpr EnumName<Change> kAll[] = {
      {Change::kSame, "same", "the whole interval lies within the threshold"},
      {Change::kFaster, "faster", ""},
      {Change::kSlower, "slower", ""},
      {Change::kUndecided, "undecided", "the interval holds both; `runs_needed`"},
      {Change::kClock, "clock", "differs, but not in units of the FMA peak beside it"},
      {Change::kMore, "more", "of exact counts: more than the threshold allows"},
      {Change::kFewer, "fewer", "of exact counts"},
      {Change::kNotComparable, "not-comparable", "`reason`"},
  };
};

// What exact counts are held against each other by (--exact).
enum class ExactBy { kInstructions, kFlops, kBytes };

template <>
struct EnumNames<ExactBy> {
  static constexpr EnumName<ExactBy> kAll[] = {
      {ExactBy::kInstructions, "instructions", ""},
      {ExactBy::kFlops, "flops", ""},
      {ExactBy::kBytes, "bytes", "loaded and stored"},
  };
};

// A time, or an exact count, of one row in both files.
struct ComparedRow {
  std::string group, name;                             // "conv1d  k=2 d_e=300, 1 thread", "simd"
  std::string label;                                   // where it stands alone: "conv1d simd"
  std::optional<double> baseline_ns, ns;               // medians
  std::optional<std::uint64_t> baseline_count, count;  // of the exact comparison
  std::size_t baseline_samples = 0, samples = 0;       // runs; slices of the only run
  std::optional<double> ratio, ratio_low, ratio_high;  // above 1: slower, more; 95 % interval
  std::optional<double> p, p_holm;                     // of a ratio of 1; corrected for all rows
  // The same ratio in units of the FMA peak beside each slice.
  std::optional<double> peak_ratio, peak_ratio_low, peak_ratio_high;
  Change verdict = Change::kNotComparable;
  std::optional<std::size_t> runs_needed;  // a side, to decide; absent: decided, or too many
  std::string reason;                      // why not comparable
};

struct FileComparison {
  ComparedFile file;
  std::vector<ComparedRow> rows;  // in the order of the baseline
  std::vector<std::string> only_in_baseline, only_here;
  std::vector<Warning> warnings;  // what else differs
};

struct Comparison {
  std::string version;
  double threshold = 0;          // 0.05: 5 %
  std::optional<ExactBy> exact;  // counts of which are compared; absent: times
  bool by_turns = false;
  std::optional<std::uint64_t> slice_ms;  // by turns: both at once in slices; absent: whole runs
  std::string stopped;  // by turns: why before its budget was used up; empty: it was not
  std::string verdict;  // in words: the first line of the text
  ComparedFile baseline;
  std::vector<FileComparison> files;
};

template <>
const Record& record<ComparedFile>();
template <>
const Record& record<ComparedRow>();
template <>
const Record& record<FileComparison>();
template <>
const Record& record<Comparison>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::ComparedFile, model::ComparedRow, model::FileComparison, model::Comparison;
}  // namespace hwprof::report

namespace hwprof {
using model::Change, model::ExactBy;
}  // namespace hwprof
