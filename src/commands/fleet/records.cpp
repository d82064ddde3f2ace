#include "src/commands/fleet/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <set>

#include "src/base/untrusted_file.h"
#include "src/base/utc.h"
#include "src/commands/check/host_facts.h"
#include "src/commands/compare/report_file.h"
#include "src/model/from_json.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostInFolder = 65'536;

// The newest record of a host counts.
Result<void> check_time(const std::string& name, const char* key, const std::string& text) {
  constexpr std::size_t kMostShown = 40;
  if (utc_time(text)) return {};
  return usage_error(fmt::format("{}: {} is \"{}\", and no time such as 2026-11-27T04:30:00Z", name,
                                 key, text.substr(0, kMostShown)));
}

// Its lists can be a hundred times as large as the text of which they were made.
report::Check as_merged(const report::Check& all) {
  report::Check kept;
  kept.version = all.version;
  kept.run_id = all.run_id;
  kept.host = all.host;
  kept.started_utc = all.started_utc;
  kept.ended_utc = all.ended_utc;
  kept.outcome = all.outcome;
  kept.reason = all.reason;
  kept.gflops = all.gflops;
  kept.gflops_reason = all.gflops_reason;
  kept.peak_fraction = all.peak_fraction;
  kept.busy_fraction = all.busy_fraction;
  kept.machine.cpu_name = all.machine.cpu_name;
  kept.machine.kernel = all.machine.kernel;
  kept.microcode = all.microcode;
  kept.microcode_reason = all.microcode_reason;
  kept.blas.provider = all.blas.provider;
  kept.blas.version = all.blas.version;
  kept.blas.core = all.blas.core;
  kept.blas.verdict = all.blas.verdict;
  kept.blas.fix = all.blas.fix;
  kept.blas.results.bits = all.blas.results.bits;
  return kept;
}

// `left`: bytes that may be read still.
Result<report::Check> read_check(const std::string& path, const std::string& name,
                                 const RecordsLimits& limits, std::uint64_t& left) {
  const auto read = read_untrusted(path, {.most_bytes = std::min(limits.bytes_of_one, left)});
  if (!read && read.error().code == EFBIG && left < limits.bytes_of_one)
    return usage_error(
        fmt::format("{} was not read: {} MiB of others were, and no more are; those of "
                    "--run-id come first",
                    name, limits.bytes_of_all >> 20U));
  TRY(const std::string text, read);
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
  return as_merged(*check);
}

// What is wanted is read first, whatever else fills the folder.
std::vector<std::size_t> order_of(const std::vector<FoundRecord>& records,
                                  const std::vector<ExpectedHost>& expected,
                                  const std::string& run_id) {
  // Letter by letter: who writes "NODE", "Node" and "nodE" is no host of the list.
  std::set<std::string> hosts;
  for (const ExpectedHost& host : expected) hosts.insert({host.name, first_label(host.name)});
  std::vector<int> places;
  for (const FoundRecord& record : records) {
    const bool of_run = run_id.empty() || record.run_id == run_id;
    places.push_back((of_run ? 0 : 2) + (hosts.contains(record.host) ? 0 : 1));
  }
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  return order;
}

}  // namespace

Result<std::vector<FoundRecord>> read_records(const std::string& folder,
                                              const std::vector<ExpectedHost>& expected,
                                              const std::string& run_id,
                                              const RecordsLimits& limits) {
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
  for (std::size_t i = 0; i < names.size(); ++i) {
    records[i].file = std::move(names[i]);
    name_record(records[i]);
  }
  std::uint64_t left = limits.bytes_of_all;
  for (const std::size_t i : order_of(records, expected, run_id)) {
    FoundRecord& record = records[i];
    if (!record.file.ends_with(".json")) {
      record.problem = record.file + " is no .json";
    } else if (auto check = read_check(fs::path(folder) / record.file, record.file, limits, left)) {
      record.check = *std::move(check);
    } else {
      record.problem = check.error().what;
    }
  }
  return records;
}

}  // namespace hwprof
