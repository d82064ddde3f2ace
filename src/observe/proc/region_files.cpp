#include "src/observe/proc/region_files.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/base/text.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;
using RegionJson = nlohmann::json;

constexpr const char* kVariable = "HWPROF_REGIONS";
constexpr const char* kTraceVariable = "HWPROF_TRACE";
constexpr std::string_view kProcess = "%p";

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether a process of the program writes `path` where it is told `pattern`.
bool belongs_to(const std::string& path, const std::string& pattern) {
  const auto place = pattern.find(kProcess);
  if (place == std::string::npos) {
    return path == pattern ||
           (path.starts_with(pattern + ".") && is_number(path.substr(pattern.size() + 1)));
  }
  const std::string before = pattern.substr(0, place);
  const std::string after = pattern.substr(place + kProcess.size());
  return path.size() > before.size() + after.size() && path.starts_with(before) &&
         path.ends_with(after) &&
         is_number(path.substr(before.size(), path.size() - before.size() - after.size()));
}

std::vector<fs::path> found(const std::string& pattern) {
  const fs::path folder = fs::path(pattern).parent_path();
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const fs::path path = folder / entry.path().filename();
    if (belongs_to(path.string(), pattern)) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string text_or_nothing(const RegionJson& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

std::optional<double> corrected(const RegionJson& both) {
  if (!both.is_object()) return std::nullopt;
  return both.at("corrected").get<double>();
}

report::Region region_of(const RegionJson& row, const RegionJson& events) {
  report::Region region;
  region.path = row.at("path").get<std::vector<std::string>>();
  region.name = region.path.empty() ? "" : region.path.back();
  region.type = text_or_nothing(row.value("type", RegionJson()));
  region.shape = text_or_nothing(row.value("shape", RegionJson()));
  region.depth = row.at("depth");
  region.threads = row.at("threads");
  region.calls = row.at("calls");
  if (region.calls != 0) {
    region.total_ns = corrected(row.at("total_ns"));
    region.self_ns = corrected(row.at("self_ns"));
  }
  region.flops = row.at("flops");
  region.bytes = row.at("bytes");
  if (row.at("gflops").is_number()) region.gflops = row.at("gflops");
  if (const RegionJson memory = row.value("memory_bytes", RegionJson()); memory.is_object())
    region.memory = {.self_bytes = memory.at("self"),
                     .total_bytes = memory.at("total"),
                     .peak_bytes = memory.at("peak")};
  for (const RegionJson& event : events) {
    const RegionJson& count = row.at("events").at(event.at("name").get<std::string>());
    region.counts.push_back({.name = event.at("shown_as"),
                             .unit = event.at("unit"),
                             .total = corrected(count.at("total")),
                             .self = corrected(count.at("self")),
                             .status = count.at("status"),
                             .reason = text_or_nothing(count.at("reason"))});
  }
  return region;
}

}  // namespace

Result<report::Regions> parse_regions(const std::string& text) try {
  const RegionJson json = RegionJson::parse(text, nullptr, false);
  if (json.is_discarded()) return usage_error("it is no JSON, or cut off");
  const std::string schema =
      json.is_object() ? text_or_nothing(json.value("schema", RegionJson())) : std::string();
  if (schema != "hwprof.regions/1")
    return usage_error(fmt::format("its schema is '{}', not hwprof.regions/1", schema));
  report::Regions regions;
  regions.memory_reason = text_or_nothing(json.value("memory_reason", RegionJson()));
  regions.notes = json.at("notes").get<std::vector<std::string>>();
  for (const RegionJson& row : json.at("regions"))
    regions.rows.push_back(region_of(row, json.at("events")));
  return regions;
} catch (const RegionJson::exception& problem) {
  return usage_error(fmt::format("it is no report of regions: {}", problem.what()));
}

Result<RegionFiles> RegionFiles::prepare(const std::optional<std::string>& user, bool trace) {
  RegionFiles files;
  if (const char* given = std::getenv(kVariable); given != nullptr && *given != '\0') {
    files.pattern_ = given;
    files.own_pattern_ = false;
    std::error_code ignored;
    for (const fs::path& path : found(files.pattern_))
      files.before_[path] = fs::last_write_time(path, ignored);
    if (!trace) return files;
  }
  auto folder = PrivateFolder::make("regions");
  if (!folder) return error_of(folder);
  const std::string path = folder->path();
  files.folder_ = *std::move(folder);
  if (files.own_pattern_) files.pattern_ = fmt::format("{}/{}.json", path, kProcess);
  if (trace) files.trace_pattern_ = fmt::format("{}/{}.trace", path, kProcess);
  if (user) {
    const passwd* entry = ::getpwnam(user->c_str());
    if (entry == nullptr || ::chown(path.c_str(), entry->pw_uid, entry->pw_gid) != 0)
      return environment_error(errno, fmt::format("cannot give {} to {}", path, *user));
  }
  return files;
}

std::vector<std::string> RegionFiles::environment() const {
  std::vector<std::string> variables;
  if (own_pattern_) variables.push_back(fmt::format("{}={}", kVariable, pattern_));
  if (!trace_pattern_.empty())
    variables.push_back(fmt::format("{}={}", kTraceVariable, trace_pattern_));
  return variables;
}

std::optional<RegionFiles::Trace> RegionFiles::trace() const {
  if (trace_pattern_.empty()) return std::nullopt;
  Trace trace;
  RegionJson merged;
  for (const fs::path& path : found(trace_pattern_)) {
    RegionJson one = RegionJson::parse(read_text_file(path).value_or(""), nullptr, false);
    if (!one.is_object() || !one.contains("traceEvents")) continue;  // cut off with its process
    const RegionJson about = one.value("otherData", RegionJson::object());
    trace.calls += about.value("calls", std::uint64_t{0});
    trace.dropped += about.value("dropped_calls", std::uint64_t{0});
    if (merged.is_null()) {
      merged = std::move(one);
      continue;
    }
    for (RegionJson& event : one["traceEvents"]) merged["traceEvents"].push_back(std::move(event));
  }
  if (merged.is_null()) return std::nullopt;
  merged["otherData"]["calls"] = trace.calls;
  merged["otherData"]["dropped_calls"] = trace.dropped;
  trace.json = merged.dump() + '\n';
  return trace;
}

std::vector<report::Regions> RegionFiles::read() const {
  std::vector<report::Regions> processes;
  for (const fs::path& path : found(pattern_)) {
    std::error_code ignored;
    const auto known = before_.find(path);
    if (known != before_.end() && known->second == fs::last_write_time(path, ignored)) continue;
    const auto text = read_text_file(path);
    Result<report::Regions> regions = usage_error("it cannot be read");
    if (text) regions = parse_regions(*text);
    if (regions && regions->rows.empty() && regions->notes.empty()) continue;
    if (!regions) {
      report::Regions unread;
      unread.notes = {
          fmt::format("the regions in {} are missing: {}", path.string(), regions.error().what)};
      regions = std::move(unread);
    }
    processes.push_back(*std::move(regions));
  }
  return processes;
}

}  // namespace hwprof
