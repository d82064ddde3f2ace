// What machines read: each writer turns a record into the bytes of a JSON or CSV file, in full
// precision; none computes, none touches a file.
#pragma once

#include <string>

#include "src/model/comparison_record.h"
#include "src/model/record.h"
#include "src/model/run_record.h"
#include "src/model/sweep_record.h"

namespace hwprof::report {

std::string profile_json(const Profile& profile);           // hwprof.profile/1
std::string profile_csv(const Profile& profile);            // one line a row
std::string run_json(const Run& run);                       // hwprof.run/1
std::string sweep_json(const Sweep& sweep);                 // hwprof.sweep/1
std::string sweep_csv(const Sweep& sweep);                  // one line a point
std::string comparison_json(const Comparison& comparison);  // hwprof.compare/1
std::string regions_csv(const Regions& regions);            // one line a region
std::string comparison_csv(const Comparison& comparison);   // one line a row

}  // namespace hwprof::report
