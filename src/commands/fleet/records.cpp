#include "src/commands/fleet/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "src/base/untrusted_file.h"
#include "src/base/utc.h"
#include "src/commands/check/host_facts.h"
#include "src/commands/compare/report_file.h"
#include "src/model/from_json.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestRecord = std::uint64_t{256} << 10U;  // a record has some 20 KB
constexpr std::uint64_t kMostOfAll = std::uint64_t{128} << 20U;
constexpr std::size_t kMostInFolder = 65'536;

// The newest record of a host counts.
Result<void> check_time(const std::string& name, const char* key, const std::string& text) {
  constexpr std::size_t kMostShown = 40;
  if (utc_time(text)) return {};
  return usage_error(fmt::format("{}: {} is \"{}\", and no time such as 2026-11-27T04:30:00Z", name,
                                 key, text.substr(0, kMostShown)));
}

// `left`: bytes that may be read still.
Result<report::Check> read_check(const std::string& path, const std::string& name,
                                 std::uint64_t& left) {
  TRY(const std::string text, read_untrusted(path, {.most_bytes = std::min(kLongestRecord, left)}));
  if (text.empty()) return usage_error(name + " is empty");
  left -= text.size();
  const std::string_view known[] = {model::record<report::Check>().schema};
  TRY(const ReportFile file, parse_report(name, text, known));
  auto check = model::from_json<report::Check>(file.json);
  if (!check) return usage_error(fmt::format("{}: {}", name, check.error().what));
  // They stand in lines for other programs, where a blank would begin another word.
  if (!host_in("host", check->host) || !run_id_in("run_id", check->run_id))
    return usage_error(name + " names no host or no run");
  TRY(check_time(name, "started_utc", check->started_utc));
  TRY(check_time(name, "ended_utc", check->ended_utc));
  return check;
}

}  // namespace

Result<std::vector<FoundRecord>> read_records(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  std::vector<std::string> names;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::string name = entries->path().filename();
    if (name.starts_with('.')) continue;
    if (names.size() == kMostInFolder)
      return usage_error(
          fmt::format("{} has more than {} files, and no more are read", folder, kMostInFolder),
          "give each run a folder of its own, or move old records away");
    names.push_back(std::move(name));
  }
  if (error)
    return usage_error(fmt::format("cannot read the folder {}: {}", folder, error.message()));
  std::sort(names.begin(), names.end());

  std::vector<FoundRecord> records(names.size());
  std::uint64_t left = kMostOfAll;
  for (std::size_t i = 0; i < names.size(); ++i) {
    FoundRecord& record = records[i];
    record.file = std::move(names[i]);
    name_record(record);
    if (!record.file.ends_with(".json")) {
      record.problem = record.file + " is no .json";
    } else if (left == 0) {
      record.problem = fmt::format("{} was not read: the files before it have {} MiB", record.file,
                                   kMostOfAll >> 20U);
    } else if (auto check = read_check(fs::path(folder) / record.file, record.file, left)) {
      record.check = *std::move(check);
    } else {
      record.problem = check.error().what;
    }
  }
  return records;
}

}  // namespace hwprof
