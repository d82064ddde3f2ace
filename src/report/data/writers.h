// What machines read: each writer turns a record into the bytes of a JSON or CSV file, in full
// precision; none computes, none touches a file.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/model/comparison_record.h"
#include "src/model/fields.h"
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

// Any record as JSON (docs/json.md), by its description (src/model/fields.h): no key is typed here.

// An object in its text, with a newline at its end. A number that is absent or not finite is null.
// ASCII: everything else is escaped, so that neither a path that is no UTF-8 nor a control
// character reaches whoever prints the file.
std::string json_text(const model::Record& record, const void* value);

template <class T>
std::string json_of(const T& value) {
  return json_text(model::record<T>(), &value);
}

}  // namespace hwprof::report
