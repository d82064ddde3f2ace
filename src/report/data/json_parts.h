// What the JSON writers share: how an absent value looks, and how an object becomes text. Internal
// to src/report.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/record.h"

namespace hwprof::report {

using Json = nlohmann::ordered_json;

inline Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

inline Json or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

// Sizes that the probe could not find are 0 in the record.
inline Json known(std::uint64_t value) { return value > 0 ? Json(value) : Json(nullptr); }

// ASCII: nlohmann escapes everything else, so that neither a path that is no UTF-8 nor a control
// character reaches whoever prints the file.
inline std::string json_text(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

template <class Pairs>
Json object_of(const Pairs& pairs) {
  Json out = Json::object();
  for (const auto& [name, value] : pairs) out[name] = value;
  return out;
}

void add_layers_json(const Profile& profile, const Layers& layers, Json& out);
Json peak_json(const Peak& peak);
Json time_json(const TimeNs& time);
Json pin_json(const Pin& pin);
Json row_json(const Profile& profile, const Row& row);
Json machine_json(const Machine& machine);
Json training_json(const Training& training);
Json ladder_json(const std::vector<LadderRung>& ladder);
Json counters_json(const std::vector<EventCount>& counters);
Json warnings_json(const std::vector<Warning>& warnings);

}  // namespace hwprof::report
