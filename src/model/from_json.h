// A record out of JSON, by the same list of its fields that JSON is written from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "src/base/result.h"
#include "src/model/fields.h"

namespace hwprof::model {

// Whether the text is fit to be parsed: neither so large nor so deeply nested that what stands for
// it would not fit, nor with objects of so many keys that it takes for ever. To be asked of every
// text from a file. Fault::kUsage.
Result<void> check_json(std::string_view text);

// Fills `value`, a `record` as it is when new. Files of other versions: keys that are not known are
// left out, and what has no key, or null, stays as it is. What code finds (computed fields) is
// filled where its field says how. Fault::kUsage with the path of the key for a value of another
// type: `rows[1].time_ns.median: "fast" is no number`.
Result<void> fill_from_json(const Record& record, void* value, const nlohmann::ordered_json& json);

template <class T>
Result<T> from_json(const nlohmann::ordered_json& json) {
  T value;
  TRY(fill_from_json(record<T>(), &value, json));
  return value;
}

}  // namespace hwprof::model
