#include "src/model/row.h"

#include "src/model/exact_point.h"
#include "src/model/fields.h"

namespace hwprof::model {

double work_ns(const Row& row) {
  return row.cpu_time_ns ? row.cpu_time_ns->median : row.time_ns->median;
}

double least_ns(const Row& row) {
  return row.cpu_time_ns ? row.cpu_time_ns->min : row.time_ns->min;
}

std::pair<double, double> work_interval_ns(const Row& row) {
  const auto of = [](const auto& time) {
    return std::pair(time.ci95_low.value_or(time.min), time.ci95_high.value_or(time.median));
  };
  return row.cpu_time_ns ? of(*row.cpu_time_ns) : of(*row.time_ns);
}

std::string gflops_reason(const Row& row) {
  if (row.gflops) return "";
  if (!row.time_ns) return row.reason;
  return row.model.flops == 0 ? "its model has comparisons, but no FLOP" : row.reason;
}

std::string peak_fraction_reason(const Row& row) {
  if (row.peak_fraction) return "";
  return row.gflops ? row.reason : gflops_reason(row);
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
    if (count.name.starts_with("flops")) return count.reason;
  }
  return "no flops event was asked for";
}

namespace {

template <class Time>
std::optional<std::string_view> no_interval(const Time& time) {
  if (time.ci95_low) return std::nullopt;
  return "fewer than six slices: none brackets the median with 95 %";
}

std::string cpu_time_reason(const Row& row) {
  if (row.cpu_time_ns) return "";
  if (!row.time_ns) return row.reason;
  return "several threads, of which some wait spinning: their CPU time is no work";
}

template <class Time>
std::optional<std::vector<double>> rates_of(double flops, const std::optional<Time>& time) {
  if (!time || !time->ci95_low || !time->ci95_high) return std::nullopt;
  return std::vector{flops / *time->ci95_high, flops / *time->ci95_low};
}

// The ends of the interval of the time that the rate is made of.
std::optional<std::vector<double>> rates_of(double flops, const Row& row) {
  return row.cpu_time_ns ? rates_of(flops, row.cpu_time_ns) : rates_of(flops, row.time_ns);
}

std::optional<std::vector<double>> gflops_interval(const Row& row) {
  return row.gflops ? rates_of(row.model.flops, row) : std::nullopt;
}

std::optional<std::vector<double>> exact_gflops_interval(const Row& row) {
  if (!exact_gflops(row)) return std::nullopt;
  return rates_of(static_cast<double>(row.exact->count->flops), row);
}

bool asked_for_exact(const Row& row) { return row.exact.has_value(); }

std::string outlier_count(const Repetition& repeated) {
  return repeated.outliers_reason.empty() ? std::to_string(repeated.outliers.size()) : "";
}

}  // namespace

template <>
const Record& record<TimeNs>() {
  static constexpr Field kFields[] = {
      field<&TimeNs::median>("median", "ns", "over the slices").column("time_median_ns"),
      interval<&TimeNs::ci95_low, &TimeNs::ci95_high>(
          "ci95", "ns",
          "of the median of runs like this one: blocks of neighbouring slices, and what runs "
          "differ by; nulls below six slices")
          .column("time_ci95_#_ns"),
      computed<no_interval<TimeNs>>("ci95_reason", "", "why there is no interval"),
      field<&TimeNs::min>("min", "ns", "the fastest slice").column("time_min_ns"),
      field<&TimeNs::mean>("mean", "ns", "over the slices").column("time_mean_ns"),
      field<&TimeNs::samples>("samples", "", "number of slices").column("time_slices"),
      each<&TimeNs::slices, &Slice::ns>("slices", "ns",
                                        "the raw times of a call, in the order of measuring"),
      each<&TimeNs::slices, &Slice::peak_gflops>(
          "slice_peak_gflops", "GFLOP/s",
          "of each slice the mean FMA peak of the slices beside it"),
      each<&TimeNs::slices, &Slice::migrated>("slice_migrated", "",
                                              "whether the calling thread changed its CPU"),
      each<&TimeNs::slices, &Slice::involuntary_switches>(
          "slice_involuntary_switches", "", "involuntary context switches of the process"),
      each<&TimeNs::slices, &Slice::page_faults>("slice_page_faults", "", "of the process"),
  };
  static constexpr Record kRecord{"Time", "Of one call, over slices of many.", kFields};
  return kRecord;
}

template <>
const Record& record<CpuTimeNs>() {
  static constexpr Field kFields[] = {
      field<&CpuTimeNs::median>("median", "ns", "over the slices").column("cpu_time_median_ns"),
      interval<&CpuTimeNs::ci95_low, &CpuTimeNs::ci95_high>("ci95", "ns",
                                                            "the same; nulls below six slices")
          .column("cpu_time_ci95_#_ns"),
      computed<no_interval<CpuTimeNs>>("ci95_reason", "", "why there is no interval"),
      field<&CpuTimeNs::min>("min", "ns", "the fastest piece of a slice").column("cpu_time_min_ns"),
      field<&CpuTimeNs::slices>("slices", "ns", "of each slice of `time_ns`, the median piece"),
  };
  static constexpr Record kRecord{
      "CpuTime", "CPU time of the calling thread, of one call: what rates are made of.", kFields};
  return kRecord;
}

template <>
const Record& record<LeftOut>() {
  static constexpr Field kFields[] = {
      field<&LeftOut::elsewhere>("elsewhere", "", "the thread stood on a CPU not its own"),
      field<&LeftOut::moved>("moved", "", "the thread changed its CPU"),
      field<&LeftOut::stolen>("stolen", "", "the host gave the CPU to others"),
      field<&LeftOut::waited>("waited", "", "a thread of several waited for its CPU"),
  };
  static constexpr Record kRecord{"LeftOut", "Slices that are not among those of a row.", kFields};
  return kRecord;
}

template <>
const Record& record<Undisturbed>() {
  static constexpr Field kFields[] = {
      field<&Undisturbed::gflops>("gflops", "GFLOP/s", "over the best tenth of the row's pieces")
          .column("undisturbed_gflops"),
      field<&Undisturbed::peak_fraction>("peak_fraction", "",
                                         "that over the best tenth of the peak's pieces")
          .column("undisturbed_peak_fraction"),
  };
  static constexpr Record kRecord{
      "Undisturbed", "The rate that neighbours leave possible; never mixed with the median.",
      kFields};
  return kRecord;
}

template <>
const Record& record<Outlier>() {
  static constexpr Field kFields[] = {
      field<&Outlier::index>("index", "", "of the slice, from 0"),
      field<&Outlier::ns>("ns", "ns", "of one call"),
      field<&Outlier::cause>(
          "cause", "",
          "what explains at least half of it; `not known`, with what else was unusual"),
  };
  static constexpr Record kRecord{"Outlier", "A repeat far above the others.", kFields};
  return kRecord;
}

template <>
const Record& record<Repetition>() {
  static constexpr Field kFields[] = {
      field<&Repetition::loops>("loops", "", "calls a slice").column("loops"),
      field<&Repetition::best_ns>("best_ns", "ns", "the fastest slice, a call")
          .column("time_best_ns"),
      field<&Repetition::outliers>("outliers", "", "slices far above the others"),
      only_in_csv<outlier_count>("outliers"),
      field<&Repetition::outliers_reason>("outliers_reason", "", "why none could be looked for")
          .null_if_empty(),
  };
  static constexpr Record kRecord{"Repetition", "What `--loops` and `--repeat` ask for.", kFields};
  return kRecord;
}

template <>
const Record& record<Cost>() {
  static constexpr Field kFields[] = {
      field<&Cost::flops>("flops", "FLOP", "").column("model_flops_per_call"),
      field<&Cost::comparisons>("comparisons", "", "").column("model_comparisons_per_call"),
      field<&Cost::bytes>("bytes", "B", "").column("model_bytes_per_call"),
      field<&Cost::cost_units>("cost_units", "", "of the complexity analysis")
          .column("model_cost_units_per_call"),
  };
  static constexpr Record kRecord{"Model", "What one call takes by its definition.", kFields};
  return kRecord;
}

template <>
const Record& record<Row>() {
  static constexpr Field kFields[] = {
      field<&Row::op>("op", "", "operation: `conv1d`").column("op"),
      field<&Row::variant>("variant", "",
                           "`simd`, `blas-im2col`, ...; `best-gemm` is `blas-gemm` "
                           "with the fastest BLAS that was measured, which programs "
                           "here do not get")
          .column("variant"),
      field<&Row::library>("library", "", "whose products it calls; null: none")
          .null_if_empty()
          .column("library"),
      field<&Row::shape>("shape", "",
                         "its sizes; `rows` are embedded words, `positions` outputs of the "
                         "convolution, both summed over the batch")
          .column("shape"),
      field<&Row::threads>("threads", "", "").column("threads"),
      field<&Row::calls>("calls", "", "timed calls").column("calls"),
      field<&Row::time_ns>("time_ns", "ns", "of one call; null: `reason`").columns_inside(),
      field<&Row::cpu_time_ns>("cpu_time_ns", "ns", "of one call, by the thread's CPU clock")
          .columns_inside(),
      computed<cpu_time_reason>("cpu_time_reason", "", "why it is null").null_if_empty(),
      field<&Row::on_cpu>(
          "on_cpu", "",
          "share of the wall time in which the thread ran; of several, in which they "
          "did not wait for a CPU, their mean; null where the kernel does not tell")
          .column("on_cpu"),
      field<&Row::left_out>("left_out", "", "slices that were disturbed"),
      field<&Row::disturbed>("disturbed", "",
                             "too few slices were not, so that those that were are among them"),
      field<&Row::undisturbed>("undisturbed", "",
                               "null: no more than the interval away from the median")
          .columns_inside(),
      field<&Row::repeated>("repeated", "", "with `--loops` or `--repeat`, else null")
          .columns_inside(),
      field<&Row::reason>("reason", "", "why the row has no time")
          .null_if_empty()
          .column("reason")
          .with(Field::kLastColumn),
      field<&Row::model>("model", "", "of one call").columns_inside(),
      field<&Row::gflops>("gflops", "GFLOP/s",
                          "`model.flops` over the median CPU time, of several threads the "
                          "median time; null where the model has none")
          .column("gflops"),
      computed<gflops_interval>("gflops_ci95", "GFLOP/s",
                                "by the ends of that time's interval; null: it has none"),
      computed<gflops_reason>("gflops_reason", "", "why it is null").null_if_empty(),
      field<&Row::peak_fraction>("peak_fraction", "",
                                 "median of the ratios of each slice to the peak slices beside it")
          .column("peak_fraction"),
      interval<&Row::peak_fraction_low, &Row::peak_fraction_high>("peak_fraction_ci95", "",
                                                                  "of that median")
          .column("peak_fraction_#"),
      computed<static_cast<std::string (*)(const Row&)>(peak_fraction_reason)>(
          "peak_fraction_reason", "", "why it is null")
          .null_if_empty()
          .column("peak_fraction_reason"),
      field<&Row::intensity>("intensity", "FLOP/B", "of the model")
          .column("intensity_flop_per_byte"),
      field<&Row::bound>("bound", "", "what limits it; null: no roofline").column("bound"),
      field<&Row::bandwidth_level>("bandwidth_level", "", "that holds the working set: `L2`")
          .null_if_empty()
          .column("bandwidth_level"),
      field<&Row::roofline_ns>("roofline_ns", "ns",
                               "the larger of FLOP over peak and bytes over bandwidth")
          .column("roofline_ns"),
      field<&Row::roofline_fraction>("roofline_fraction", "",
                                     "that over the median CPU time, of several threads the "
                                     "median time")
          .column("roofline_fraction"),
      field<&Row::roofline_flag>("roofline_flag", "", "why that or `peak_fraction` is above 1.02")
          .null_if_empty()
          .column("roofline_flag"),
      field<&Row::pass>("pass", "", "the forward pass it belongs to")
          .null_if_empty()
          .column("pass")
          .with(Field::kOfForwardPass),
      field<&Row::forward_share>("forward_share", "", "of the time of that pass")
          .column("forward_share")
          .with(Field::kOfForwardPass),
      field<&Row::max_rel_error>("max_rel_error", "",
                                 "largest difference from double precision, relative to the sum of "
                                 "the absolute values of the terms")
          .column("max_rel_error"),
      computed<error_reason>("max_rel_error_reason", "", "why it is null").null_if_empty(),
      field<&Row::checked_documents>("checked_documents", "", "that were compared for it")
          .column("checked_documents")
          .with(Field::kOfDocuments),
      field<&Row::counted_to_model_flops>("counted_to_model_flops", "",
                                          "where FLOP could be counted")
          .column("counted_to_model_flops"),
      computed<counted_flops_reason>("counted_to_model_flops_reason", "", "why it is null")
          .null_if_empty(),
      field<&Row::exact>("exact", "", "with `--exact`").left_out_if_absent().columns_inside(),
      computed<exact_intensity>("exact.intensity", "FLOP/B",
                                "executed FLOP over bytes loaded and stored; null: no FLOP")
          .only_if<asked_for_exact>(),
      computed<exact_gflops>("exact.gflops", "GFLOP/s",
                             "executed FLOP over the time that `gflops` is of, which is apart from "
                             "the count")
          .only_if<asked_for_exact>(),
      computed<exact_gflops_interval>("exact.gflops_ci95", "GFLOP/s",
                                      "by the ends of that time's interval; null: it has none")
          .only_if<asked_for_exact>(),
      computed<exact_gflops_reason>("exact.gflops_reason", "", "why it is null")
          .null_if_empty()
          .only_if<asked_for_exact>(),
      field<&Row::optimised>("optimised", "", "false: the naive reference"),
      by_name<&Row::counters, &EventCount::name>("counters", "", "by event"),
  };
  static constexpr Record kRecord{
      "Row", "An operation in one variant, of each shape and number of threads.", kFields};
  return kRecord;
}

}  // namespace hwprof::model
