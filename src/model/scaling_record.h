// The same rows on several numbers of threads, side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

// One row on one number of threads.
struct ScalingPoint {
  std::optional<double> time_ns;  // median; absent: `reason` of the row in the profile
  // Time on the fewest threads over this one: the mean of the turns' ratios, of less than three
  // turns the ratio of the medians.
  std::optional<double> speedup;
  std::optional<double> speedup_low, speedup_high;  // 95 % interval, from the turns' ratios
  std::optional<double> efficiency;                 // speed-up / how many times more threads
  std::optional<double> efficiency_low, efficiency_high;
  // CPU time over elapsed time of each thread of the process while the row ran, highest first;
  // those below 1 % are left out.
  std::vector<double> cpu_shares;
  std::string cpu_shares_reason;  // why there are none
};

struct ScalingRow {
  std::string op, variant, shape;    // "k=2 d_e=300"
  std::vector<ScalingPoint> points;  // one a number of threads
};

struct ScalingCount {
  int threads = 1, blas_threads = 1;
  double peak_gflops = 0;       // of all of them together
  bool oversubscribed = false;  // more threads than CPUs
};

struct Scaling {
  std::size_t cpus = 0;
  int base_threads = 1;              // the fewest: what speed-up and efficiency are against
  std::vector<ScalingCount> counts;  // in the order given
  std::vector<ScalingRow> rows;
};

template <>
const Record& record<ScalingPoint>();
template <>
const Record& record<ScalingRow>();
template <>
const Record& record<ScalingCount>();
template <>
const Record& record<Scaling>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::ScalingPoint, model::ScalingRow, model::ScalingCount, model::Scaling;
}  // namespace hwprof::report
