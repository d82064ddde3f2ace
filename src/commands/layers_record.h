// From a network's samples to the record. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/perf/counting.h"
#include "src/measure/layer_times.h"
#include "src/measure/roofline.h"
#include "src/model/record.h"
#include "src/workloads/networks/layer_net.h"

namespace hwprof {

// What was measured of one form of a network, layer by layer.
struct MeasuredForm {
  const LayerNet& net;
  const LayerTimes* times = nullptr;  // null: it could not run
  std::vector<std::optional<double>> errors;
  std::vector<std::vector<EventCount>> counters;
};

report::LayerForm make_layer_form(const MeasuredForm& measured, const Ceilings& ceilings,
                                  int threads, const Limits& limits);

// `seconds`: of each layer of `form`.
report::Against make_against(const std::string& file, const report::LayerForm& form,
                             const std::vector<double>& seconds);

}  // namespace hwprof
