// A JSON report of hwprof in a file: read back, or refused in one sentence.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace hwprof {

struct ReportFile {
  std::string path, schema;     // "hwprof.profile/1"
  nlohmann::ordered_json json;  // an object
};

// Fault::kUsage for what cannot be opened, is empty, cut or no JSON (with its line and column), is
// no report of hwprof, or one of a schema that is none of `known`.
Result<ReportFile> read_report(const std::string& path, std::span<const std::string_view> known);

// What the first half of that reads, any JSON; and what the second makes of it.
Result<nlohmann::ordered_json> read_json(const std::string& path);
Result<ReportFile> report_of(const std::string& path, nlohmann::ordered_json json,
                             std::span<const std::string_view> known);

// The same of text that is called `name` in errors.
Result<ReportFile> parse_report(const std::string& name, const std::string& text,
                                std::span<const std::string_view> known);

}  // namespace hwprof
