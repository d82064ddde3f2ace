#include "src/exact/counts.h"

namespace hwprof::exact {

Counts& Counts::operator+=(const Counts& other) {
  instructions += other.instructions;
  for (std::size_t p = 0; p < kPrecisions; ++p) {
    for (std::size_t w = 0; w < kWidths; ++w) flops.at(p).at(w) += other.flops.at(p).at(w);
  }
  for (std::size_t o = 0; o < kOperations; ++o) operations.at(o) += other.operations.at(o);
  bytes_loaded += other.bytes_loaded;
  bytes_stored += other.bytes_stored;
  masked_instructions += other.masked_instructions;
  masked_lanes_off += other.masked_lanes_off;
  system_calls += other.system_calls;
  return *this;
}

std::uint64_t Counts::total_flops() const {
  std::uint64_t sum = 0;
  for (const auto& by_width : flops) {
    for (const std::uint64_t flop : by_width) sum += flop;
  }
  return sum;
}

std::uint64_t Counts::flops_of(Precision precision) const {
  std::uint64_t sum = 0;
  for (const std::uint64_t flop : flops.at(static_cast<std::size_t>(precision))) sum += flop;
  return sum;
}

std::uint64_t Counts::flops_at(Width width) const {
  std::uint64_t sum = 0;
  for (const auto& by_width : flops) sum += by_width.at(static_cast<std::size_t>(width));
  return sum;
}

void add(Counts& counts, const Effect& effect, std::uint64_t times, std::uint64_t units) {
  const bool masked = effect.mask != MaskKind::kNone;
  counts.instructions += times;
  counts.system_calls += effect.system_call ? times : 0;
  if (masked) {
    counts.masked_instructions += times;
    counts.masked_lanes_off += times * effect.mask_lanes - units;
  }
  if (effect.masked_memory) {
    counts.bytes_loaded += units * (effect.loaded / effect.mask_lanes);
    counts.bytes_stored += units * (effect.stored / effect.mask_lanes);
  } else {
    counts.bytes_loaded += (effect.repeated ? units : times) * effect.loaded;
    counts.bytes_stored += (effect.repeated ? units : times) * effect.stored;
  }
  if (effect.operation == Operation::kNone) return;
  const std::uint64_t lanes = masked ? units : times * effect.lanes;
  counts.operations.at(static_cast<std::size_t>(effect.operation)) += lanes;
  counts.flops.at(static_cast<std::size_t>(effect.precision))
      .at(static_cast<std::size_t>(effect.width)) += lanes * effect.flops_per_lane;
}

}  // namespace hwprof::exact
