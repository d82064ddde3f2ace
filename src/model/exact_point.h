// The point of a row on the roofline by what it executed (`--exact`), beside the one by its model:
// FLOP that were counted over the bytes of the instructions that loaded and stored, and over the
// time of the row, which was measured apart from the count. These bytes are seen from the registers
// and most come from L1, so it is L1's bandwidth that bounds such a point, not memory's.
#pragma once

#include <optional>
#include <string>

#include "src/model/row.h"

namespace hwprof::model {

// FLOP / byte; absent where nothing was counted, or no FLOP was executed.
std::optional<double> exact_intensity(const Row& row);
// Absent as that, and where the row has no time.
std::optional<double> exact_gflops(const Row& row);
// Why there is no rate, and so no point; "" where there is one, or nobody asked for it.
std::string exact_gflops_reason(const Row& row);

}  // namespace hwprof::model

namespace hwprof::report {
using model::exact_intensity, model::exact_gflops;
}  // namespace hwprof::report
