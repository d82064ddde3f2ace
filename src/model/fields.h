// model: what measurement, verdict and report share: plain records and enums, each idea once, with
// the unit in each name. It includes src/base alone; nothing here measures, judges or prints.
//
// A record's keys, described once: what JSON out and in, CSV columns and docs/json.md are made of.
//
// A record is a plain struct. Beside it, in its header, stands one declaration:
//
//   struct Pin {
//     CpuList requested;
//     std::optional<double> switches_per_s;
//   };
//   template <> const Record& record<Pin>();
//
// and in the .cpp of the same name its keys, in the order in which JSON has them:
//
//   template <>
//   const Record& record<Pin>() {
//     static constexpr Field kFields[] = {
//         field<&Pin::requested>("requested", "", "CPUs of --pin; empty: not given"),
//         field<&Pin::switches_per_s>("switches_per_s", "1/s", "involuntary; null: before the
//         run"),
//     };
//     static constexpr Record kRecord{"Pin", "Where it ran.", kFields};
//     return kRecord;
//   }
//
// A member may be a number, bool, string, enum (with EnumNames beside it), another record, and an
// optional, vector or map from names of these. Absent looks the same everywhere: null for an empty
// optional and a number that is not finite, [] and {} for an empty list and map; what else means
// "absent" is said at the field: `.null_if_empty()` for "" and 0, `.left_out_if_absent()` where the
// key is missing then. An enum that a record holds:
//
//   enum class Bound { kCompute, kMemory };
//   template <> struct EnumNames<Bound> {
//     static constexpr EnumName<Bound> kAll[] = {{Bound::kCompute, "compute", "limited by
//     arithmetic"},
//                                               {Bound::kMemory, "memory", "limited by
//                                               bandwidth"}};
//   };
//
// gives name_of(bound) and enum_of<Bound>("memory"). After a change of keys:
//   HWPROF_GOLDEN_WRITE=1 build/tests/src_tests --gtest_filter="Golden*:JsonDocs*"
//
// Nothing here knows JSON, CSV or Markdown: src/report/data writes them, from_json.h reads JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hwprof::model {

template <class E>
struct EnumName {
  E value;
  std::string_view text, doc;
};
template <class E>
struct EnumNames;  // specialised beside the enum: `kAll`

template <class E>
constexpr std::string_view name_of(E value) {
  for (const EnumName<E>& name : EnumNames<E>::kAll)
    if (name.value == value) return name.text;
  return "";
}

template <class E>
constexpr std::optional<E> enum_of(std::string_view text) {
  for (const EnumName<E>& name : EnumNames<E>::kAll)
    if (name.text == text) return name.value;
  return std::nullopt;
}

struct Record;
template <class T>
const Record& record();  // specialised beside the struct
using RecordOf = const Record& (*)();

using Scalar =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;

inline std::optional<double> number_of(const Scalar& scalar) {
  return std::visit(
      [](auto value) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<decltype(value)>) return static_cast<double>(value);
        return std::nullopt;
      },
      scalar);
}

// How a value of some C++ type is looked at and filled, without that type.
struct Type {
  enum Kind { kScalar, kOptional, kList, kMap, kRecord };
  struct Word {
    std::string_view text, doc;
  };
  Kind kind = kScalar;
  std::string_view word = {};  // of a scalar, for readers: "number"
  const Type* item = nullptr;  // of an optional, list or map
  RecordOf record = nullptr;
  Scalar (*get)(const void* value) = nullptr;
  // False: of another kind, or too large. None of text that belongs to somebody else.
  bool (*set)(void* value, const Scalar& to) = nullptr;
  // Of an optional (0 or 1), list or map.
  std::size_t (*size)(const void* value) = nullptr;
  const void* (*at)(const void* value, std::size_t i) = nullptr;
  std::string_view (*key)(const void* value, std::size_t i) = nullptr;
  // The same to be filled: made where there is none. Nullptr: there can be none.
  void* (*make)(void* value, std::size_t i, std::string_view key) = nullptr;
  // Of an enum.
  std::size_t words = 0;
  Word (*word_at)(std::size_t i) = nullptr;
};

// One key of a record.
struct Field {
  enum Flag : unsigned {
    kNullIfEmpty = 1,       // "" and 0
    kLeftOutIfAbsent = 2,   // no key, instead of null
    kWhole = 4,             // a double that counts something
    kNumbersInText = 8,     // "128" is written as 128, "2+4+8" as it is
    kSpliced = 16,          // the keys of a record stand among those of the one around it
    kNullUnlessWhole = 32,  // a list of which one item is absent
    kLastColumn = 64,       // in CSV
    kUnitInColumn = 128,    // of an event: its column names the unit
    kOfForwardPass = 256,   // of a row: only where rows make up a pass
    kOfDocuments = 512,     // of a row: only where it works on documents
    kFoundByCode = 1024,    // by a function on its way: not to be filled
  };
  std::string_view key;  // "sgemm.gflops": `gflops` in an object `sgemm`; empty: only a CSV column
  std::string_view unit, doc;
  const Type* type = nullptr;
  const void* (*at)(const void* record) = nullptr;
  // Instead of `at`, of what no member holds.
  void (*compute)(const void* record, void* context,
                  void (*use)(void* context, const void* value)) = nullptr;
  bool (*present)(const void* record) = nullptr;  // no key where it says no
  // Column; "*": of a record, those of its own fields; '#' stands for "low" and "high".
  std::string_view in_csv = {};
  // How what code finds is read back. Nullptr: it is not, and follows from what is.
  void (*fill)(void* record, const Scalar& from) = nullptr;
  unsigned flags = 0;
  unsigned without = 0;      // of a spliced record: fields with one of these flags are not there
  RecordOf items = nullptr;  // of records inside, instead of the one of their type

  [[nodiscard]] constexpr bool is(Flag flag) const { return (flags & flag) != 0; }
  [[nodiscard]] constexpr Field with(unsigned flag) const {
    Field field = *this;
    field.flags |= flag;
    return field;
  }
  [[nodiscard]] constexpr Field null_if_empty() const { return with(kNullIfEmpty); }
  [[nodiscard]] constexpr Field left_out_if_absent() const { return with(kLeftOutIfAbsent); }
  [[nodiscard]] constexpr Field whole() const { return with(kWhole); }
  [[nodiscard]] constexpr Field column(std::string_view name) const {
    Field field = *this;
    field.in_csv = name;
    return field;
  }
  [[nodiscard]] constexpr Field columns_inside() const { return column("*"); }
  [[nodiscard]] constexpr Field described_by(RecordOf description) const {
    Field field = *this;
    field.items = description;
    return field;
  }
  template <auto Test>  // bool(const T&)
  [[nodiscard]] constexpr Field only_if() const;
  template <auto Fill>  // void(T&, const Scalar&)
  [[nodiscard]] constexpr Field read_by() const;
};

struct Record {
  std::string_view name, doc;
  std::span<const Field> fields;
  std::string_view schema = {};  // of a whole document: "hwprof.run/1"
};

// --- What follows makes descriptions; those who only write them need not read it.

template <class>
struct MemberTraits;
template <class C, class M>
struct MemberTraits<M C::*> {
  using Class = C;
  using Value = M;
};
template <class C, class R>
struct MemberTraits<R (*)(const C&)> {
  using Class = C;
  using Value = std::remove_cvref_t<R>;
};
template <class C>
struct MemberTraits<void (*)(C&, const Scalar&)> {
  using Class = C;
};
template <auto Member>
using ClassOf = typename MemberTraits<decltype(Member)>::Class;
template <auto Member>
using ValueOf = typename MemberTraits<decltype(Member)>::Value;

template <class T>
inline constexpr bool kIsPairs = false;
template <class V>
inline constexpr bool kIsPairs<std::vector<std::pair<std::string, V>>> = true;

template <class T>
constexpr Type make_type();
template <class T>
inline constexpr Type kType = make_type<T>();

template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}
template <class T>
T& as(void* value) {
  return *static_cast<T*>(value);
}

template <class T>
Scalar get_scalar(const void* value) {
  if constexpr (std::is_enum_v<T>) {
    return name_of(as<T>(value));
  } else if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
    return as<T>(value);
  } else if constexpr (std::is_signed_v<T>) {
    return std::int64_t{as<T>(value)};
  } else if constexpr (std::is_unsigned_v<T>) {
    return std::uint64_t{as<T>(value)};
  } else {
    return std::string_view(as<T>(value));
  }
}

template <class T>
bool set_scalar(void* value, const Scalar& to) {
  if constexpr (std::is_enum_v<T>) {
    const auto* text = std::get_if<std::string_view>(&to);
    const std::optional<T> named = text == nullptr ? std::nullopt : enum_of<T>(*text);
    if (named) as<T>(value) = *named;
    return named.has_value();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::visit(
        [value](auto number) {
          using From = decltype(number);
          constexpr bool kFits = std::is_same_v<T, bool> == std::is_same_v<From, bool> &&
                                 (std::is_floating_point_v<T> || !std::is_floating_point_v<From>);
          if constexpr (std::is_arithmetic_v<From> && kFits) {
            if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
              if (!std::in_range<T>(number)) return false;
            as<T>(value) = static_cast<T>(number);
            return true;
          } else {
            return false;
          }
        },
        to);
  } else {
    const auto* text = std::get_if<std::string_view>(&to);
    if (text != nullptr) as<T>(value) = T(*text);
    return text != nullptr;
  }
}

template <class T>
constexpr Type scalar_type() {
  Type type{.kind = Type::kScalar, .get = get_scalar<T>};
  if constexpr (!std::is_same_v<T, std::string_view>) type.set = set_scalar<T>;
  if constexpr (std::is_enum_v<T>) {
    type.word = "text";
    type.words = std::size(EnumNames<T>::kAll);
    type.word_at = [](std::size_t i) {
      const EnumName<T>& name = EnumNames<T>::kAll[i];
      return Type::Word{name.text, name.doc};
    };
  } else {
    type.word = std::is_same_v<T, bool> ? "bool" : std::is_arithmetic_v<T> ? "number" : "text";
  }
  return type;
}

// The i-th item of a list, which grows until it has one.
template <class List>
auto& grown(void* list, std::size_t i) {
  auto& items = as<List>(list);
  while (items.size() <= i) items.emplace_back();
  return items[i];
}

template <class T>
constexpr Type make_type() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
                std::is_same_v<T, std::string_view>) {
    return scalar_type<T>();
  } else if constexpr (requires(T t) { t.has_value(); }) {
    return {.kind = Type::kOptional,
            .item = &kType<typename T::value_type>,
            .size = [](const void* v) -> std::size_t { return as<T>(v).has_value() ? 1 : 0; },
            .at = [](const void* v, std::size_t) -> const void* { return &*as<T>(v); },
            .make = [](void* v, std::size_t, std::string_view) -> void* {
              return as<T>(v) ? &*as<T>(v) : &as<T>(v).emplace();
            }};
  } else if constexpr (kIsPairs<T>) {
    return {.kind = Type::kMap,
            .item = &kType<typename T::value_type::second_type>,
            .size = [](const void* v) { return as<T>(v).size(); },
            .at = [](const void* v, std::size_t i) -> const void* { return &as<T>(v)[i].second; },
            .key = [](const void* v, std::size_t i) { return std::string_view(as<T>(v)[i].first); },
            .make = [](void* v, std::size_t i, std::string_view key) -> void* {
              auto& item = grown<T>(v, i);
              item.first = key;
              return &item.second;
            }};
  } else if constexpr (requires { typename T::mapped_type; }) {
    return {.kind = Type::kMap,
            .item = &kType<typename T::mapped_type>,
            .size = [](const void* v) { return as<T>(v).size(); },
            .at = [](const void* v, std::size_t i) -> const void* {
              return &std::next(as<T>(v).begin(), static_cast<std::ptrdiff_t>(i))->second;
            },
            .key =
                [](const void* v, std::size_t i) {
                  return std::string_view(
                      std::next(as<T>(v).begin(), static_cast<std::ptrdiff_t>(i))->first);
                },
            .make = [](void* v, std::size_t, std::string_view key) -> void* {
              return &as<T>(v)[std::string(key)];
            }};
  } else if constexpr (requires(T t) { t.emplace_back(); }) {
    return {
        .kind = Type::kList,
        .item = &kType<typename T::value_type>,
        .size = [](const void* v) { return as<T>(v).size(); },
        .at = [](const void* v, std::size_t i) -> const void* { return &as<T>(v)[i]; },
        .make = [](void* v, std::size_t i, std::string_view) -> void* { return &grown<T>(v, i); }};
  } else {
    return {.kind = Type::kRecord, .record = record<T>};
  }
}

// The member at the end of a path of members; a step may be a function that returns a reference.
template <auto First, auto... Rest>
const void* member_at(const void* record) {
  const auto& value = [record]() -> const auto& {
    if constexpr (std::is_member_pointer_v<decltype(First)>) {
      return as<ClassOf<First>>(record).*First;
    } else {
      return First(as<ClassOf<First>>(record));
    }
  }
  ();
  if constexpr (sizeof...(Rest) == 0) {
    return &value;
  } else {
    return member_at<Rest...>(&value);
  }
}
// Of a record that is no constant, a member that no function found: it may be filled.
inline void* writable(const void* member) { return const_cast<void*>(member); }

template <auto First, auto... Rest>
struct LastOf : LastOf<Rest...> {};
template <auto Last>
struct LastOf<Last> {
  using Value = ValueOf<Last>;
};

// field<&Machine::id, &CpuId::family>: a member of a member.
template <auto... Path>
constexpr Field field(std::string_view key, std::string_view unit, std::string_view doc) {
  return {.key = key,
          .unit = unit,
          .doc = doc,
          .type = &kType<typename LastOf<Path...>::Value>,
          .at = member_at<Path...>,
          .flags = (std::is_member_pointer_v<decltype(Path)> && ...) ? 0U : Field::kFoundByCode};
}

// What a function makes of the record. Sparingly: better a member, filled when it is measured.
template <auto Function>
constexpr Field computed(std::string_view key, std::string_view unit, std::string_view doc) {
  return {.key = key,
          .unit = unit,
          .doc = doc,
          .type = &kType<ValueOf<Function>>,
          .compute = [](const void* record, void* context, void (*use)(void*, const void*)) {
            const auto value = Function(as<ClassOf<Function>>(record));
            use(context, &value);
          }};
}

// A column of the CSV that JSON has no key for.
template <auto Function>
constexpr Field only_in_csv(std::string_view name) {
  return computed<Function>("", "", "").column(name);
}

// Two members as [low, high].
template <auto Low, auto High>
inline constexpr Type kInterval = {
    .kind = Type::kList,
    .item = &kType<ValueOf<Low>>,
    .size = [](const void*) -> std::size_t { return 2; },
    .at = [](const void* record,
             std::size_t i) { return i == 0 ? member_at<Low>(record) : member_at<High>(record); },
    .make = [](void* record, std::size_t i, std::string_view) -> void* {
      return i == 0   ? writable(member_at<Low>(record))
             : i == 1 ? writable(member_at<High>(record))
                      : nullptr;
    }};
template <auto Low, auto High>
constexpr Field interval(std::string_view key, std::string_view unit, std::string_view doc) {
  return {.key = key,
          .unit = unit,
          .doc = doc,
          .type = &kInterval<Low, High>,
          .at = [](const void* record) { return record; }};
}

// One member of each item of a list, as a list of its own.
template <auto List, auto Member>
inline constexpr Type kColumn = {
    .kind = Type::kList,
    .item = &kType<ValueOf<Member>>,
    .size = kType<ValueOf<List>>.size,
    .at = [](const void* list,
             std::size_t i) { return member_at<Member>(&as<ValueOf<List>>(list)[i]); },
    .make =
        [](void* list, std::size_t i, std::string_view) {
          return writable(member_at<Member>(&grown<ValueOf<List>>(list, i)));
        }};
template <auto List, auto Member>
constexpr Field each(std::string_view key, std::string_view unit, std::string_view doc) {
  return {
      .key = key, .unit = unit, .doc = doc, .type = &kColumn<List, Member>, .at = member_at<List>};
}

// A list whose items have a name, as an object with a key an item; `Member`: only that of each.
// Numbers of the same name add up.
template <class Items, auto Name, auto... Member>
constexpr Type named_type() {
  Type type{
      .kind = Type::kMap, .size = kType<Items>.size, .key = [](const void* list, std::size_t i) {
        return std::string_view(as<Items>(list)[i].*Name);
      }};
  if constexpr (sizeof...(Member) == 0) {
    type.item = &kType<typename Items::value_type>;
    type.at = kType<Items>.at;
    type.make = [](void* list, std::size_t i, std::string_view key) -> void* {
      auto& item = grown<Items>(list, i);
      item.*Name = key;
      return &item;
    };
  } else {
    type.item = &kType<typename LastOf<Member...>::Value>;
    type.at = [](const void* list, std::size_t i) {
      return member_at<Member...>(&as<Items>(list)[i]);
    };
    type.make = [](void* list, std::size_t i, std::string_view key) -> void* {
      auto& item = grown<Items>(list, i);
      item.*Name = key;
      return writable(member_at<Member...>(&item));
    };
  }
  return type;
}
template <class Items, auto Name, auto... Member>
inline constexpr Type kNamed = named_type<Items, Name, Member...>();
template <auto List, auto Name, auto... Member>
constexpr Field by_name(std::string_view key, std::string_view unit, std::string_view doc) {
  return {.key = key,
          .unit = unit,
          .doc = doc,
          .type = &kNamed<ValueOf<List>, Name, Member...>,
          .at = member_at<List>};
}

// The keys of a record that is a member (or an optional one) among one's own.
template <auto Member>
constexpr Field spliced(unsigned without = 0) {
  Field spliced = field<Member>("", "", "").with(Field::kSpliced);
  spliced.without = without;
  return spliced;
}

// The same of a base of the record.
template <class Derived, class Base>
constexpr Field spliced_base() {
  return {.key = "",
          .unit = "",
          .doc = "",
          .type = &kType<Base>,
          .at = [](const void* record) -> const void* {
            return static_cast<const Base*>(static_cast<const Derived*>(record));
          },
          .flags = Field::kSpliced};
}

template <auto Test>
constexpr Field Field::only_if() const {
  Field field = *this;
  field.present = [](const void* record) { return Test(as<ClassOf<Test>>(record)); };
  return field;
}

template <auto Fill>
constexpr Field Field::read_by() const {
  Field field = *this;
  field.fill = [](void* record, const Scalar& from) { Fill(as<ClassOf<Fill>>(record), from); };
  return field;
}

}  // namespace hwprof::model
