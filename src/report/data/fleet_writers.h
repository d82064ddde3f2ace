// What machines read of one host's check, and of those of many.
#pragma once

#include <string>

#include "src/model/check_record.h"
#include "src/model/fleet_record.h"
#include "src/report/data/writers.h"

namespace hwprof::report {

inline std::string check_json(const Check& check) { return json_of(check); }  // hwprof.check/1
inline std::string fleet_json(const Fleet& fleet) { return json_of(fleet); }  // hwprof.fleet/1
std::string fleet_csv(const Fleet& fleet);                                    // one line a host

// For node_exporter's textfile collector: gauges with base units in their names, without
// timestamps, which it refuses.
std::string check_prometheus(const Check& check);

}  // namespace hwprof::report
