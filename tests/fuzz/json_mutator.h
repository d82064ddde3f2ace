// Changes an input that is JSON as JSON: bytes that are changed as they come are no JSON any more,
// and no parser behind that of JSON sees them. A target that includes this has libFuzzer's own
// changes, too.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "src/model/from_json.h"
#include "tests/fuzz/fuzz.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace json_mutator {

using Json = nlohmann::ordered_json;

// All that is in it, itself first.
inline void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (value.is_structured())
    for (Json& item : value) collect(item, all);
}

inline Json odd_value(std::size_t draw) {
  const Json values[] = {nullptr,
                         true,
                         0,
                         -1,
                         1e308,
                         5e-324,
                         ~std::uint64_t{0},
                         std::int64_t{1} << 53,
                         "",
                         "a b=\"c\"\n\x1b[31m<b>&\xc2\x9b\xf0\x9f\x92\xa9",
                         std::string(300, 'x'),
                         Json::array(),
                         Json::object()};
  return values[draw % std::size(values)];
}

inline std::string mutated(std::string text) {
  const std::size_t size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

inline void mutate(Json& root, std::minstd_rand& random) {
  std::vector<Json*> all;
  collect(root, all);
  Json& at = *all[random() % all.size()];
  switch (random() % 5) {
    case 0:
      at = odd_value(random());
      return;
    case 1: {  // some other value of it
      const Json other = *all[random() % all.size()];
      at = other;
      return;
    }
    case 2:
      if (at.is_array() && !at.empty()) {
        const Json item = at[random() % at.size()];
        at.push_back(item);
      }
      return;
    case 3:
      if (at.is_structured() && !at.empty())
        at.erase(std::next(at.begin(), static_cast<std::ptrdiff_t>(random() % at.size())));
      return;
    default:
      if (at.is_string()) {
        at = mutated(at.get<std::string>());
      } else if (at.is_number_float()) {
        at = at.get<double>() * (static_cast<double>(random() % 2001) - 1000) / 7;
      } else if (at.is_number()) {
        at = at.get<std::uint64_t>() ^ (std::uint64_t{1} << (random() % 64));
      }
  }
}

}  // namespace json_mutator

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace json_mutator;
  std::minstd_rand random(seed);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool fit = hwprof::model::check_json(text).has_value();
  Json json = fit ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
  if (json.is_discarded() || random() % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) mutate(json, random);
  const std::string changed = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
