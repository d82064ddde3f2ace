// What an operation has to do by its definition, whatever the implementation: of one call.
// kernels/complexity.h has the model of each operation, and the conventions.
#pragma once

namespace hwprof {

struct Cost {
  double flops = 0;
  double comparisons = 0;
  double bytes = 0;              // traffic
  double working_set_bytes = 0;  // distinct bytes: decides which cache can hold them
  double cost_units = 0;
  // Of `flops`; the rest are exponentials, each counted as one.
  double multiplications = 0, additions = 0;
};

}  // namespace hwprof
