// Any record as JSON (docs/json.md), by its description (src/model/fields.h): no key is typed here.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/model/fields.h"

namespace hwprof::report {

// An object in its text, with a newline at its end. A number that is absent or not finite is null.
// ASCII: everything else is escaped, so that neither a path that is no UTF-8 nor a control
// character reaches whoever prints the file.
std::string json_text(const model::Record& record, const void* value);

template <class T>
std::string json_of(const T& value) {
  return json_text(model::record<T>(), &value);
}

}  // namespace hwprof::report
