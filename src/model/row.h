// One operation in one variant: what every workload measures. Part of record.h, with its rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/cost.h"
#include "src/model/exact_record.h"
#include "src/model/machine.h"

namespace hwprof::model {

// One measured slice, and what else happened in it; absent where nobody looked.
struct Slice {
  double ns = 0;       // of one call, by the wall clock
  double work_ns = 0;  // of one call, on the clock that counts: CPU time, or wall time undisturbed
  std::optional<double> peak_gflops;  // FMA peak beside it: mean of the pieces before and after
  std::optional<double> peak_ratio;   // of its rate to that; absent without FLOP
  std::optional<bool> migrated;       // the calling thread ended it on another CPU
  std::optional<bool> stolen;         // the host gave the CPU to others meanwhile
  bool waited = false;                // a thread waited for its CPU all along
  std::optional<std::uint64_t> involuntary_switches, page_faults;  // of the whole process
};

// Slices that were measured and are not among those of a row, each for its first reason.
struct LeftOut {
  std::uint64_t elsewhere = 0, moved = 0, stolen = 0, waited = 0;
  [[nodiscard]] std::uint64_t total() const { return elsewhere + moved + stolen + waited; }
};

struct TimeNs {
  double median = 0, min = 0, mean = 0;
  // Of the median, from blocks of neighbouring slices; absent below six slices, where none has
  // 95 %.
  std::optional<double> ci95_low = std::nullopt, ci95_high = std::nullopt;
  int samples = 0;              // slices
  std::vector<Slice> slices{};  // in the order of measuring
};

// The same work on the clock that other programs do not move: time in which the thread ran.
struct CpuTimeNs {
  double median = 0, min = 0;
  std::optional<double> ci95_low = std::nullopt, ci95_high = std::nullopt;
  std::vector<double> slices{};
};

// What the machine gives when neighbours leave its caches alone: over the best tenth of a row's
// pieces, against the best tenth of the peak's.
struct Undisturbed {
  std::optional<double> gflops, peak_fraction;
};

// A repeat whose time stands far above the others.
struct Outlier {
  std::size_t index = 0;  // of the slice
  double ns = 0;          // of one call
  std::string cause;  // "3 involuntary context switches (usually 0)"; "not known; beside it: ..."
};

// What was asked for with --loops or --repeat; the repeats are the slices of `time_ns`.
struct Repetition {
  std::uint64_t loops = 0;  // calls a repeat
  double best_ns = 0;       // the fastest repeat, a call
  std::vector<Outlier> outliers;
  std::string outliers_reason;  // why none could be looked for
};

enum class Bound { kCompute, kMemory };

template <>
struct EnumNames<Bound> {
  static constexpr EnumName<Bound> kAll[] = {
      {Bound::kCompute, "compute", "its FLOP at the peak take longer than its bytes"},
      {Bound::kMemory, "memory", "its bytes take longer"},
  };
};

struct Row {
  std::string op, variant;
  std::vector<std::pair<std::string, std::uint64_t>> shape;  // in the order to print
  int threads = 1;
  std::string library;      // whose products it calls: "OpenBLAS 0.3.21 Haswell"; "" none
  std::uint64_t calls = 0;  // timed calls
  // By the wall clock. Of several threads only slices in which none waited for its CPU.
  std::optional<TimeNs> time_ns;         // absent: `reason`
  std::optional<CpuTimeNs> cpu_time_ns;  // absent: several threads, some of which wait spinning
  std::optional<double> on_cpu;          // share of the wall time in which the threads ran
  LeftOut left_out;
  bool disturbed = false;  // too few slices were not, so that those that were are among them
  std::optional<Undisturbed> undisturbed;  // absent: not told from the median
  std::optional<Repetition> repeated;
  Cost model;                           // of one call
  std::optional<double> gflops;         // absent when the model has no FLOP
  std::optional<double> peak_fraction;  // median of ratios of interleaved slices
  std::optional<double> peak_fraction_low, peak_fraction_high;  // 95 % interval
  std::optional<double> roofline_fraction;                      // roofline time / median time
  std::string roofline_flag;            // why that or peak_fraction is over; empty: neither is
  std::optional<double> roofline_ns;    // the larger of FLOP / peak and bytes / bandwidth
  std::optional<double> intensity;      // FLOP / byte; absent: it moves none
  std::optional<Bound> bound;           // absent: no roofline
  std::string bandwidth_level;          // where the working set lives: "L2"
  std::optional<double> forward_share;  // share of the forward pass of `pass`
  std::string pass;                     // name of that forward pass
  std::optional<double> max_rel_error;  // against the reference in double precision
  std::uint64_t checked_documents = 0;
  std::optional<double> counted_to_model_flops;
  std::optional<ExactWork> exact;  // absent: not asked for
  std::vector<EventCount> counters;
  bool optimised = true;  // false: the naive reference
  std::string reason;     // why the row has no time
};

// What rates, shares and comparisons are made of: CPU time, of several threads wall time. The row
// has a time.
double work_ns(const Row& row);
double least_ns(const Row& row);
// Its interval; the least and the median where there is none.
std::pair<double, double> work_interval_ns(const Row& row);

// Why `row` has no such number; empty where it has one.
std::string gflops_reason(const Row& row);
std::string peak_fraction_reason(const Row& row);
std::string error_reason(const Row& row);
std::string counted_flops_reason(const Row& row);

template <>
const Record& record<TimeNs>();
template <>
const Record& record<CpuTimeNs>();
template <>
const Record& record<LeftOut>();
template <>
const Record& record<Undisturbed>();
template <>
const Record& record<Outlier>();
template <>
const Record& record<Repetition>();
template <>
const Record& record<Cost>();
template <>
const Record& record<Row>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::Slice, model::LeftOut, model::TimeNs, model::CpuTimeNs, model::Undisturbed,
    model::work_ns, model::work_interval_ns, model::Outlier, model::Repetition, model::Bound,
    model::Row, model::gflops_reason, model::peak_fraction_reason, model::error_reason,
    model::counted_flops_reason;
}  // namespace hwprof::report
