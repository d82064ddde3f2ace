#include "src/observe/proc/region_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/base/untrusted_file.h"
#include "src/model/from_json.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;
using RegionJson = nlohmann::json;

constexpr const char* kVariable = "HWPROF_REGIONS";
constexpr const char* kTraceVariable = "HWPROF_TRACE";
constexpr std::string_view kProcess = "%p";
constexpr std::size_t kDeepestPath = 65536;  // as deep as libhwprof goes
constexpr std::uint64_t kMostRegionBytes = 256U << 20U;
constexpr std::size_t kMostFiles = 10'000;

// Who may have written them is who runs the program: this process has no other rights.
Result<std::string> read_file(const fs::path& path) {
  return read_untrusted(path.string(), {.owner = ::geteuid(), .most_bytes = kMostRegionBytes});
}

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
    if (paths.size() >= kMostFiles) break;
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// As libhwprof writes it; a program may have written anything.
bool is_trace(const RegionJson& json) {
  return json.is_object() && json.contains("traceEvents") && json["traceEvents"].is_array() &&
         json.contains("otherData") && json["otherData"].is_object();
}

std::uint64_t count_in(const RegionJson& trace, const char* key) {
  const RegionJson& about = trace["otherData"];
  const auto found = about.find(key);
  return found != about.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// What a name means here stands once in a file, for all regions.
void name_counts(report::Region& region, const std::vector<report::RegionsFile::Event>& events) {
  for (report::RegionCount& count : region.counts) {
    const auto event = std::find_if(events.begin(), events.end(),
                                    [&](const auto& known) { return known.name == count.name; });
    if (event == events.end()) continue;
    count.name = event->shown_as;
    count.unit = event->unit;
  }
}

}  // namespace

Result<report::Regions> parse_regions(const std::string& text) {
  TRY(model::check_json(text));
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return usage_error("it is no JSON, or cut off");
  const std::string_view known = model::record<report::RegionsFile>().schema;
  const auto schema = json.find("schema");
  if (schema == json.end() || *schema != known)
    return usage_error(fmt::format(
        "its schema is '{}', not {}",
        schema != json.end() && schema->is_string() ? schema->get<std::string>() : std::string(),
        known));
  TRY(report::RegionsFile file, model::from_json<report::RegionsFile>(json));
  for (report::Region& region : file.regions.rows) {
    if (region.path.empty() || region.path.size() > kDeepestPath)
      return usage_error(fmt::format("a region has a path of {} names", region.path.size()));
    region.name = region.path.back();
    region.depth = region.path.size() - 1;
    if (region.calls == 0) region.total_ns = region.self_ns = std::nullopt;
    name_counts(region, file.events);
  }
  return std::move(file.regions);
}

Result<RegionFiles> RegionFiles::prepare(bool trace) {
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
    const auto text = read_file(path);
    if (!text || !model::check_json(*text)) continue;
    RegionJson one = RegionJson::parse(*text, nullptr, false);
    if (!is_trace(one)) continue;  // cut off with its process
    trace.calls += count_in(one, "calls");
    trace.dropped += count_in(one, "dropped_calls");
    if (merged.is_null()) {
      merged = std::move(one);
      continue;
    }
    for (RegionJson& event : one["traceEvents"]) merged["traceEvents"].push_back(std::move(event));
  }
  if (merged.is_null()) return std::nullopt;
  merged["otherData"]["calls"] = trace.calls;
  merged["otherData"]["dropped_calls"] = trace.dropped;
  trace.json = merged.dump(-1, ' ', false, RegionJson::error_handler_t::replace) + '\n';
  return trace;
}

std::vector<report::Regions> RegionFiles::read() const {
  std::vector<report::Regions> processes;
  for (const fs::path& path : found(pattern_)) {
    std::error_code ignored;
    const auto known = before_.find(path);
    if (known != before_.end() && known->second == fs::last_write_time(path, ignored)) continue;
    const auto text = read_file(path);
    auto regions = text ? parse_regions(*text) : error_of(text);
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
