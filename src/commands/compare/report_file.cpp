#include "src/commands/compare/report_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "src/model/from_json.h"
#include "src/workloads/inputs/line_reader.h"

namespace hwprof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr const char* kHowToWrite = "hwprof profile --format json -o FILE writes a report";

// `byte` from 1, as nlohmann counts.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::max<std::size_t>(byte, 1) - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto line_begin = before.rfind('\n');
  const std::size_t column =
      before.size() - (line_begin == std::string_view::npos ? 0 : line_begin + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

// "hwprof.check" of "hwprof.check/1".
std::string_view without_version(std::string_view schema) {
  return schema.substr(0, schema.rfind('/'));
}

// nlohmann's exceptions end here.
Result<Json> parse(const std::string& path, const std::string& text) {
  if (const auto fit = model::check_json(text); !fit)
    return usage_error(fmt::format("{} cannot be read: {}", path, fit.error().what), kHowToWrite);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;
    if (error.byte > end) {
      return usage_error(fmt::format("{} ends in the middle of the JSON, at {}: the file was cut",
                                     path, place_of(text, end)),
                         "write it again");
    }
    return usage_error(fmt::format("{} is not JSON: {}", path, place_of(text, error.byte)),
                       kHowToWrite);
  } catch (const Json::exception&) {
    return usage_error(fmt::format("{} has a number that is too large", path), kHowToWrite);
  }
}

}  // namespace

Result<Json> read_json(const std::string& path) {
  TRY(const std::string text, read_lines(path, kMostBytes, "report of hwprof"));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return usage_error(fmt::format("{} is empty", path), kHowToWrite);
  }
  return parse(path, text);
}

Result<ReportFile> read_report(const std::string& path, std::span<const std::string_view> known) {
  TRY(Json json, read_json(path));
  return report_of(path, std::move(json), known);
}

Result<ReportFile> parse_report(const std::string& path, const std::string& text,
                                std::span<const std::string_view> known) {
  TRY(Json json, parse(path, text));
  return report_of(path, std::move(json), known);
}

Result<ReportFile> report_of(const std::string& path, Json json,
                             std::span<const std::string_view> known) {
  const auto schema = json.find("schema");
  if (!json.is_object() || schema == json.end() || !schema->is_string()) {
    return usage_error(fmt::format("{} is JSON, but no report of hwprof: it names no schema", path),
                       kHowToWrite);
  }
  ReportFile file{path, schema->get<std::string>(), std::move(json)};
  if (std::find(known.begin(), known.end(), file.schema) == known.end()) {
    const auto other = std::find_if(known.begin(), known.end(), [&](std::string_view one) {
      return without_version(one) == without_version(file.schema);
    });
    if (other != known.end()) {
      return usage_error(fmt::format("{} has the schema '{}', and this hwprof reads '{}'", path,
                                     file.schema, *other),
                         "read it with the hwprof that wrote it, or a later one");
    }
    return usage_error(
        fmt::format("{} has the schema '{}', which is not known here", path, file.schema),
        fmt::format("known: {}", fmt::join(known, ", ")));
  }
  return file;
}

}  // namespace hwprof
