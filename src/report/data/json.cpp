#include <cmath>
#include <nlohmann/json.hpp>

#include "src/report/data/writers.h"

namespace hwprof::report {
namespace {

using model::Scalar;
using model::Type;
using Json = nlohmann::ordered_json;

Json value_json(const Type& type, const void* value, const model::Field& field);

// "128" -> 128 where a field asks for it: sizes are text where several are given, as in "2+4+8".
Json number_in(std::string_view text) {
  Json number = Json::parse(text, nullptr, false);
  return number.is_number_unsigned() ? number : Json(text);
}

Json scalar_json(const Scalar& scalar, const model::Field& field) {
  const bool null_if_empty = field.is(model::Field::kNullIfEmpty);
  return std::visit(
      [&](auto value) -> Json {
        using T = decltype(value);
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, std::string_view>) {
          if (null_if_empty && value.empty()) return nullptr;
          return field.is(model::Field::kNumbersInText) ? number_in(value) : Json(value);
        } else {
          if constexpr (std::is_same_v<T, double>) {
            if (!std::isfinite(value)) return nullptr;
            if (field.is(model::Field::kWhole))
              return scalar_json(static_cast<std::uint64_t>(value), field);
          }
          return null_if_empty && value == T{} ? Json(nullptr) : Json(value);
        }
      },
      scalar);
}

void add_fields(const model::Record& record, const void* value, unsigned without, Json& to);

Json list_json(const Type& type, const void* value, const model::Field& field) {
  Json list = Json::array();
  for (std::size_t i = 0; i < type.size(value); ++i) {
    list.push_back(value_json(*type.item, type.at(value, i), field));
    if (field.is(model::Field::kNullUnlessWhole) && list.back().is_null()) return nullptr;
  }
  return list;
}

Json map_json(const Type& type, const void* value, const model::Field& field) {
  Json map = Json::object();
  for (std::size_t i = 0; i < type.size(value); ++i) {
    Json item = value_json(*type.item, type.at(value, i), field);
    Json& known = map[std::string(type.key(value, i))];
    known = known.is_number() && item.is_number() ? Json(known.get<double>() + item.get<double>())
                                                  : std::move(item);
  }
  return map;
}

Json value_json(const Type& type, const void* value, const model::Field& field) {
  switch (type.kind) {
    case Type::kScalar:
      return scalar_json(type.get(value), field);
    case Type::kOptional:
      return type.size(value) == 0 ? Json(nullptr)
                                   : value_json(*type.item, type.at(value, 0), field);
    case Type::kList:
      return list_json(type, value, field);
    case Type::kMap:
      return map_json(type, value, field);
    case Type::kRecord:
      break;
  }
  Json object = Json::object();
  add_fields(type.record(), value, 0, object);
  return object;
}

void add_value(const model::Field& field, const void* value, Json& to) {
  const Type* type = field.type;
  const bool absent = type->kind == Type::kOptional && type->size(value) == 0;
  if (field.is(model::Field::kSpliced)) {
    if (absent) return;
    if (type->kind == Type::kOptional) {
      value = type->at(value, 0);
      type = type->item;
    }
    add_fields(type->record(), value, field.without, to);
    return;
  }
  if (absent && field.is(model::Field::kLeftOutIfAbsent)) return;
  // "sgemm.gflops": in an object of its own.
  const std::size_t dot = field.key.find('.');
  Json& at = dot == std::string_view::npos ? to : to[std::string(field.key.substr(0, dot))];
  at[std::string(field.key.substr(dot + 1))] = value_json(*type, value, field);
}

void add_fields(const model::Record& record, const void* value, unsigned without, Json& to) {
  if (!record.schema.empty()) to["schema"] = record.schema;
  for (const model::Field& field : record.fields) {
    const bool is_key = !field.key.empty() || field.is(model::Field::kSpliced);
    if (!is_key || (field.flags & without) != 0) continue;
    if (field.present != nullptr && !field.present(value)) continue;
    if (field.at != nullptr) {
      add_value(field, field.at(value), to);
      continue;
    }
    struct Context {
      const model::Field& field;
      Json& to;
    } context{field, to};
    field.compute(value, &context, [](void* with, const void* computed) {
      const auto& known = *static_cast<Context*>(with);
      add_value(known.field, computed, known.to);
    });
  }
}

}  // namespace

std::string json_text(const model::Record& record, const void* value) {
  Json json = Json::object();
  add_fields(record, value, 0, json);
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string profile_json(const Profile& profile) { return json_of(profile); }
std::string run_json(const Run& run) { return json_of(run); }
std::string sweep_json(const Sweep& sweep) { return json_of(sweep); }
std::string comparison_json(const Comparison& comparison) { return json_of(comparison); }

}  // namespace hwprof::report
