// One operation in one variant, ready to be timed, counted and checked: what workloads hand to the
// runner.
//
// workloads: what is measured: operations with their inputs, shapes and costs (operations/),
// networks made of them (networks/), documents, images and vectors (inputs/), the MLP that learns
// (mlp/). It times nothing and prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/complexity.h"

namespace hwprof {

struct Task {
  std::string_view op, variant;
  std::string library = {};  // whose products it calls, where not the session's; in words
  std::vector<std::pair<std::string, std::uint64_t>> shape;
  Cost cost;
  bool optimised = true;  // false: the naive reference
  bool needs_blas = false;
  std::function<void()> run;  // empty: `reason`
  // After run(): the largest error against double precision over the sampled documents.
  std::function<double()> check;
  std::string reason;
};

}  // namespace hwprof
