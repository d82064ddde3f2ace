#include "src/model/exact_point.h"

namespace hwprof::model {
namespace {

// FLOP of the row's count; absent where there are none.
std::optional<double> executed_flops(const Row& row) {
  if (!row.exact || !row.exact->count || row.exact->count->flops == 0) return std::nullopt;
  return static_cast<double>(row.exact->count->flops);
}

}  // namespace

std::optional<double> exact_intensity(const Row& row) {
  const std::optional<double> flops = executed_flops(row);
  if (!flops) return std::nullopt;
  const auto bytes =
      static_cast<double>(row.exact->count->bytes_loaded + row.exact->count->bytes_stored);
  return bytes > 0 ? std::optional(*flops / bytes) : std::nullopt;
}

std::optional<double> exact_gflops(const Row& row) {
  const std::optional<double> flops = executed_flops(row);
  return flops && row.time_ns ? std::optional(*flops / work_ns(row)) : std::nullopt;
}

std::string exact_gflops_reason(const Row& row) {
  if (!row.exact || exact_gflops(row)) return "";
  if (!row.exact->count) return row.exact->reason;
  return row.exact->count->flops == 0 ? "it executed no FLOP" : row.reason;
}

}  // namespace hwprof::model
