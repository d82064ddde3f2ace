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

constexpr std::uint64_t kLongestRecord = std::uint64_t{4} << 20U;  // a record has some 20 KB

Result<report::Check> read_check(const std::string& path, const std::string& name) {
  TRY(const std::string text, read_untrusted(path, {.most_bytes = kLongestRecord}));
  if (text.empty()) return usage_error(name + " is empty");
  const std::string_view known[] = {model::record<report::Check>().schema};
  TRY(const ReportFile file, parse_report(name, text, known));
  auto check = model::from_json<report::Check>(file.json);
  if (!check) return usage_error(fmt::format("{}: {}", name, check.error().what));
  // They stand in lines for other programs, where a blank would begin another word.
  if (!host_in("host", check->host) || !run_id_in("run_id", check->run_id) ||
      !unix_seconds(check->ended_utc))
    return usage_error(name + " names no host, no run or no time");
  return check;
}

}  // namespace

Result<std::vector<FoundRecord>> read_records(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  std::vector<FoundRecord> records;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    if (name.starts_with('.')) continue;
    FoundRecord& record = records.emplace_back();
    record.file = name;
    name_record(record);
    if (!name.ends_with(".json")) {
      record.problem = name + " is no .json";
      continue;
    }
    auto check = read_check(entries->path(), name);
    if (check)
      record.check = *std::move(check);
    else
      record.problem = check.error().what;
  }
  if (error)
    return usage_error(fmt::format("cannot read the folder {}: {}", folder, error.message()));
  std::sort(records.begin(), records.end(),
            [](const FoundRecord& a, const FoundRecord& b) { return a.file < b.file; });
  return records;
}

}  // namespace hwprof
