#include "src/model/scaling_record.h"

namespace hwprof::model {

template <>
const Record& record<ScalingPoint>() {
  static constexpr Field kFields[] = {
      field<&ScalingPoint::time_ns>("time_ns", "ns", "median"),
      field<&ScalingPoint::speedup>("speedup", "",
                                    "against the smallest count: the mean of the turns' ratios, of "
                                    "less than three turns the ratio of the medians"),
      interval<&ScalingPoint::speedup_low, &ScalingPoint::speedup_high>(
          "speedup_ci95", "",
          "of the turns that the numbers of threads take; null: less than three in which no thread "
          "waited for its CPU"),
      field<&ScalingPoint::efficiency>("efficiency", "",
                                       "speed-up over how many times more threads"),
      interval<&ScalingPoint::efficiency_low, &ScalingPoint::efficiency_high>("efficiency_ci95", "",
                                                                              ""),
      field<&ScalingPoint::cpu_shares>(
          "cpu_shares", "",
          "CPU time over elapsed time of each thread of the process while the row ran, highest "
          "first, those below 1 % left out"),
      field<&ScalingPoint::cpu_shares_reason>("cpu_shares_reason", "", "why there are none")
          .null_if_empty(),
  };
  static constexpr Record kRecord{"ScalingPoint", "One row on one number of threads.", kFields};
  return kRecord;
}

template <>
const Record& record<ScalingRow>() {
  static constexpr Field kFields[] = {
      field<&ScalingRow::op>("op", "", ""),
      field<&ScalingRow::variant>("variant", "", ""),
      field<&ScalingRow::shape>("shape", "", "`k=2 d_e=300`"),
      field<&ScalingRow::points>("points", "", "one a count"),
  };
  static constexpr Record kRecord{"ScalingRow", "", kFields};
  return kRecord;
}

template <>
const Record& record<ScalingCount>() {
  static constexpr Field kFields[] = {
      field<&ScalingCount::threads>("threads", "", ""),
      field<&ScalingCount::blas_threads>("blas_threads", "", ""),
      field<&ScalingCount::peak_gflops>("peak_gflops", "GFLOP/s", "of all of them together"),
      field<&ScalingCount::oversubscribed>("oversubscribed", "", "more threads than CPUs"),
  };
  static constexpr Record kRecord{"ScalingCount", "One number of threads.", kFields};
  return kRecord;
}

template <>
const Record& record<Scaling>() {
  static constexpr Field kFields[] = {
      field<&Scaling::cpus>("cpus", "", ""),
      field<&Scaling::base_threads>("base_threads", "", "the fewest: what speed-up is against"),
      field<&Scaling::counts>("counts", "", "in the order given"),
      field<&Scaling::rows>("rows", "", ""),
  };
  static constexpr Record kRecord{"Scaling", "The same rows on several numbers of threads.",
                                  kFields};
  return kRecord;
}

}  // namespace hwprof::model
