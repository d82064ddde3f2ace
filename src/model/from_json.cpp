#include "src/model/from_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace hwprof::model {
namespace {

using JsonIn = nlohmann::ordered_json;

// A value as messages show it.
std::string shown(const JsonIn& json) {
  constexpr std::size_t kMostLetters = 40;
  if (json.is_array() && !json.empty()) return "a list";
  if (json.is_object() && !json.empty()) return "an object";
  const std::string text = json.dump(-1, ' ', true, JsonIn::error_handler_t::replace);
  return text.size() <= kMostLetters ? text : text.substr(0, kMostLetters) + "...";
}

Result<void> wrong(const std::string& path, const JsonIn& json, std::string_view wanted) {
  return usage_error(
      fmt::format("{}{}{} is no {}", path, path.empty() ? "" : ": ", shown(json), wanted));
}

std::string below(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

Scalar scalar_of(const JsonIn& json) {
  switch (json.type()) {
    case JsonIn::value_t::boolean:
      return json.get<bool>();
    case JsonIn::value_t::number_integer:
      return json.get<std::int64_t>();
    case JsonIn::value_t::number_unsigned:
      return json.get<std::uint64_t>();
    case JsonIn::value_t::number_float:
      return json.get<double>();
    case JsonIn::value_t::string:
      return std::string_view(json.get_ref<const std::string&>());
    default:
      return {};
  }
}

// "word of ok, scaled", or the type.
std::string wanted_of(const Type& type) {
  if (type.words == 0) return std::string(type.word);
  std::string words;
  for (std::size_t i = 0; i < type.words; ++i)
    words += fmt::format("{}{}", i == 0 ? "" : ", ", type.word_at(i).text);
  return "word of " + words;
}

Result<void> fill_scalar(const Type& type, void* value, const JsonIn& json, const Field& field,
                         const std::string& path) {
  const bool number_in_text = field.is(Field::kNumbersInText) && json.is_number();
  const std::string text = number_in_text ? json.dump() : "";
  if (type.set(value, number_in_text ? Scalar(std::string_view(text)) : scalar_of(json))) return {};
  return wrong(path, json, wanted_of(type));
}

// The record of what is inside of a value of `type`; the description that the field names is of
// the outermost one.
struct Filler {
  const Field& field;

  Result<void> value(const Type& type, void* value, const JsonIn& json, const std::string& path);
  Result<void> items(const Type& type, void* value, const JsonIn& json, const std::string& path);
};

Result<void> fill_record(const Record& record, void* value, const JsonIn& json, unsigned without,
                         const std::string& path);

Result<void> Filler::items(const Type& type, void* value, const JsonIn& json,
                           const std::string& path) {
  const bool list = type.kind == Type::kList;
  if (list ? !json.is_array() : !json.is_object())
    return wrong(path, json, list ? "list" : "object");
  std::size_t i = 0;
  for (const auto& [key, item] : json.items()) {
    const std::string at = list ? fmt::format("{}[{}]", path, i) : below(path, key);
    if (item.is_null() && type.item->kind == Type::kRecord) return wrong(at, item, "object");
    void* place = type.make(value, i++, key);
    if (place == nullptr) return wrong(path, json, fmt::format("list of {}", i - 1));
    TRY(this->value(*type.item, place, item, at));
  }
  return {};
}

Result<void> Filler::value(const Type& type, void* value, const JsonIn& json,
                           const std::string& path) {
  if (json.is_null()) {
    // As it was written: a number that is not finite.
    const bool number = type.kind == Type::kScalar && !field.is(Field::kNullIfEmpty);
    if (number && type.set != nullptr) type.set(value, std::numeric_limits<double>::quiet_NaN());
    return {};
  }
  switch (type.kind) {
    case Type::kScalar:
      return type.set == nullptr ? Result<void>() : fill_scalar(type, value, json, field, path);
    case Type::kOptional:
      return this->value(*type.item, type.make(value, 0, ""), json, path);
    case Type::kList:
    case Type::kMap:
      return type.make == nullptr ? Result<void>() : items(type, value, json, path);
    case Type::kRecord:
      break;
  }
  const Record& described = field.items != nullptr ? field.items() : type.record();
  return fill_record(described, value, json, 0, path);
}

// What `json` has at the field's key, or nullptr.
const JsonIn* find(const Field& field, const JsonIn& json) {
  const std::size_t dot = field.key.find('.');
  const auto outer = json.find(std::string(field.key.substr(0, dot)));
  if (outer == json.end()) return nullptr;
  if (dot == std::string_view::npos) return &*outer;
  if (!outer->is_object()) return nullptr;
  const auto inner = outer->find(std::string(field.key.substr(dot + 1)));
  return inner == outer->end() ? nullptr : &*inner;
}

bool can_be_filled(const Field& field) {
  return field.fill != nullptr || (field.at != nullptr && !field.is(Field::kFoundByCode));
}

bool has_any_key(const Record& record, const JsonIn& json) {
  return std::any_of(record.fields.begin(), record.fields.end(), [&json](const Field& field) {
    return can_be_filled(field) && find(field, json) != nullptr;
  });
}

Result<void> fill_spliced(const Field& field, void* value, const JsonIn& json,
                          const std::string& path) {
  const bool optional = field.type->kind == Type::kOptional;
  const Type& type = optional ? *field.type->item : *field.type;
  if (optional && !has_any_key(type.record(), json)) return {};
  return fill_record(type.record(), optional ? field.type->make(value, 0, "") : value, json,
                     field.without, path);
}

Result<void> fill_record(const Record& record, void* value, const JsonIn& json, unsigned without,
                         const std::string& path) {
  if (!json.is_object()) return wrong(path, json, "object");
  for (const Field& field : record.fields) {
    if (!can_be_filled(field) || (field.flags & without) != 0) continue;
    if (field.fill != nullptr) {
      if (const JsonIn* found = find(field, json)) field.fill(value, scalar_of(*found));
      continue;
    }
    void* member = writable(field.at(value));
    if (field.is(Field::kSpliced)) {
      TRY(fill_spliced(field, member, json, path));
    } else if (const JsonIn* found = field.key.empty() ? nullptr : find(field, json)) {
      TRY(Filler{field}.value(*field.type, member, *found, below(path, field.key)));
    }
  }
  return {};
}

}  // namespace

Result<void> check_json(std::string_view text) {
  constexpr std::size_t kMostBytes = std::size_t{512} << 20U;
  constexpr std::size_t kDeepest = 200;
  // nlohmann's ordered objects compare each key with all before it; no record has as many.
  constexpr std::size_t kMostKeys = 1024;
  // `{},` is 3 bytes, and as an entry of a list of records some 500: with this, 1.5 GB. The report
  // of a node of 10,000 processes has some 400,000.
  constexpr std::size_t kMostValues = 2'000'000;
  if (text.size() > kMostBytes)
    return usage_error(
        fmt::format("it has {} bytes, and no more than {} are read", text.size(), kMostBytes));
  std::vector<std::size_t> keys;  // of the objects that are open
  std::size_t values = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if ((c == ',' || c == '[' || c == '{') && ++values > kMostValues) {
      return usage_error(fmt::format("it has more than {} values", kMostValues));
    } else if (c == '[' || c == '{') {
      if (keys.size() == kDeepest)
        return usage_error(fmt::format("it is nested more than {} levels deep", kDeepest));
      keys.push_back(0);
    } else if (c == ']' || c == '}') {
      if (!keys.empty()) keys.pop_back();
    } else if (c == ':' && !keys.empty() && ++keys.back() > kMostKeys) {
      return usage_error(fmt::format("an object in it has more than {} keys", kMostKeys));
    }
  }
  return {};
}

Result<void> fill_from_json(const Record& record, void* value, const JsonIn& json) {
  return fill_record(record, value, json, 0, "");
}

}  // namespace hwprof::model
