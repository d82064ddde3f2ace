// The sizes of the text CNN, as in --shape k=2,d_e=300,d_c=128,n=124,l=103,batch=64. Names and
// defaults are those of the cost analysis (README, "The workload").
#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/result.h"
#include "src/commands/profile/options.h"

namespace hwprof {

// Fault::kUsage names the key: unknown, twice, zero, negative, too large for BLAS's 32-bit
// integers, k or a filter size above n, k beside filter_sizes.
Result<ShapeOptions> parse_shape(std::string_view text);

// Fault::kUsage when the tensors of this shape need more than the memory there is; names the
// largest. Documents of unknown length count as 124 words.
Result<void> check_memory(const ShapeOptions& shape, std::uint64_t memory_bytes);

}  // namespace hwprof
