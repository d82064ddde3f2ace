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
#include "src/model/from_json.h"

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
    if (!region.path.empty()) region.name = region.path.back();
    if (region.calls == 0) region.total_ns = region.self_ns = std::nullopt;
    name_counts(region, file.events);
  }
  return std::move(file.regions);
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
