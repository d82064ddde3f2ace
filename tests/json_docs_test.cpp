// docs/json.md is made of the descriptions of the records (src/model/fields.h), below its first
// marker; HWPROF_GOLDEN_WRITE=1 writes that part anew.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/model/calibration.h"
#include "src/model/check_record.h"
#include "src/model/comparison_record.h"
#include "src/model/fleet_record.h"
#include "src/model/run_record.h"
#include "src/model/sweep_record.h"
#include "src/report/documents/inspect.h"

namespace hwprof::model {
namespace {

constexpr std::string_view kMarker = "<!-- What follows is written by json_docs_test. -->\n";

struct Documentation {
  std::string text;
  std::vector<const Record*> parts;  // that are referred to, in the order of first use
};

std::string linked(const Record& record, Documentation& to) {
  if (std::find(to.parts.begin(), to.parts.end(), &record) == to.parts.end())
    to.parts.push_back(&record);
  std::string anchor(record.name);
  std::transform(anchor.begin(), anchor.end(), anchor.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return fmt::format("[{}](#{})", record.name, anchor);
}

std::string type_in_words(const Type& type, Documentation& to) {
  switch (type.kind) {
    case Type::kOptional:
      return type_in_words(*type.item, to) + " or null";
    case Type::kList:
      return "list of " + type_in_words(*type.item, to);
    case Type::kMap:
      return "by name " + type_in_words(*type.item, to);
    case Type::kRecord:
      return linked(type.record(), to);
    case Type::kScalar:
      break;
  }
  if (type.words == 0) return std::string(type.word);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < type.words; ++i)
    words.push_back(fmt::format("`{}`", type.word_at(i).text));
  return fmt::format("{}", fmt::join(words, ", "));
}

// What each word of an enum means.
std::string meanings(const Field& field) {
  const Type& type = field.type->kind == Type::kOptional ? *field.type->item : *field.type;
  std::string text;
  for (std::size_t i = 0; i < type.words; ++i) {
    if (type.word_at(i).doc.empty()) continue;
    text += fmt::format("- `{}` `{}`: {}\n", field.key, type.word_at(i).text, type.word_at(i).doc);
  }
  return text.empty() ? "" : "\n" + text;
}

std::string spliced_line(const Field& field, Documentation& to) {
  const bool optional = field.type->kind == Type::kOptional;
  const Record& record = (optional ? *field.type->item : *field.type).record();
  std::vector<std::string> without;
  for (const Field& other : record.fields)
    if ((other.flags & field.without) != 0) without.push_back(fmt::format("`{}`", other.key));
  return fmt::format("| | | | {}the keys of {}{} |\n", optional ? "where there is one, " : "",
                     linked(record, to),
                     without.empty() ? "" : fmt::format(" but {}", fmt::join(without, ", ")));
}

void describe(const Record& record, Documentation& to) {
  if (!record.doc.empty()) to.text += fmt::format("{}\n\n", record.doc);
  to.text += "| key | type | unit | what it is |\n| --- | --- | --- | --- |\n";
  std::string enums;
  if (!record.schema.empty())
    to.text += fmt::format("| `schema` | text | | `{}` |\n", record.schema);
  for (const Field& field : record.fields) {
    if (field.is(Field::kSpliced)) to.text += spliced_line(field, to);
    if (field.key.empty()) continue;
    std::string type = type_in_words(*field.type, to);
    if (field.is(Field::kNullIfEmpty) || field.is(Field::kNullUnlessWhole)) type += " or null";
    if (field.is(Field::kLeftOutIfAbsent)) type = type.substr(0, type.rfind(" or null"));
    const std::string column =
        field.in_csv.empty() || field.in_csv == "*" || field.in_csv == field.key
            ? ""
            : fmt::format(" (CSV `{}`)", field.in_csv);
    to.text +=
        fmt::format("| `{}` | {} | {} | {}{} |\n", field.key, type, field.unit, field.doc, column);
    enums += meanings(field);
  }
  to.text += enums;
}

std::string json_documentation() {
  Documentation to;
  std::vector<const Record*> done;
  for (const Record* schema :
       {&record<Profile>(), &record<model::Run>(), &record<Sweep>(), &record<Comparison>(),
        &record<BlasSurvey>(), &record<report::Node>(), &record<model::Check>(),
        &record<model::Fleet>(), &record<Doctor>(), &record<report::Events>(),
        &record<model::Calibration>(), &record<PeakReport>()}) {
    to.text += fmt::format("\n# `{}`\n\n", schema->schema);
    describe(*schema, to);
  }
  to.text += "\n# Parts\n";
  for (std::size_t i = 0; i < to.parts.size(); ++i) {
    to.text += fmt::format("\n## {}\n\n", to.parts[i]->name);
    describe(*to.parts[i], to);
  }
  return to.text;
}

TEST(JsonDocs, AreThoseOfTheRecords) {
  const std::string path = DATA "/../../docs/json.md";
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  const std::string text = file.str();
  const std::size_t begin = text.find(kMarker);
  ASSERT_NE(begin, std::string::npos) << path;
  const std::string wanted = text.substr(0, begin) + std::string(kMarker) + json_documentation();
  if (const char* write = std::getenv("HWPROF_GOLDEN_WRITE"); write && *write == '1') {
    std::ofstream(path) << wanted;
    return;
  }
  std::istringstream is(text), should(wanted);
  std::string here, there;
  for (int line = 1; std::getline(should, there); ++line) {
    if (!std::getline(is, here)) here = "(the end)";
    ASSERT_EQ(here, there) << "docs/json.md, line " << line << ": write it anew";
  }
  EXPECT_EQ(text, wanted);
}

// Two records of one name would share a heading, and two keys of one name a place.
TEST(JsonDocs, NoRecordHasAKeyTwice) {
  for (const Record* one : {&record<Profile>(), &record<Row>(), &record<model::Run>(),
                            &record<Sweep>(), &record<Comparison>(), &record<Machine>()}) {
    std::vector<std::string_view> keys;
    for (const Field& field : one->fields)
      if (!field.key.empty()) keys.push_back(field.key);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end()) << one->name;
  }
}

}  // namespace
}  // namespace hwprof::model
