// A folder of records that other hosts have written, merged and said in each format:
// {"hosts": "node[1-3]", "records": {"node1@r1.json": {...}, "notes.json": "any text"}}.
#include "src/report/documents/fleet.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "src/commands/fleet/merge.h"
#include "src/commands/fleet/records.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/render/render.h"
#include "tests/fuzz/json_mutator.h"

namespace {

using namespace hwprof;
namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1795752000;  // 2026-11-27T04:00:00Z
constexpr std::size_t kMostRecords = 6;

// In memory, where there is such a folder; one a process.
const fs::path& folder() {
  static const fs::path made = [] {
    std::string path = fs::exists("/dev/shm") ? "/dev/shm/fuzz-fleet-XXXXXX" : "/tmp/fuzz-XXXXXX";
    must(::mkdtemp(path.data()) != nullptr);
    static const std::string kept = path;
    std::atexit([] { fs::remove_all(kept); });
    return fs::path(path);
  }();
  return made;
}

void write_records(const nlohmann::ordered_json& records) {
  for (const auto& entry : fs::directory_iterator(folder())) fs::remove(entry.path());
  std::size_t written = 0;
  for (const auto& [name, record] : records.items()) {
    if (name.empty() || name.size() > 200 || name.find('/') != name.npos ||
        name.find('\0') != name.npos || name == "." || name == ".." || written++ == kMostRecords)
      continue;
    std::ofstream(folder() / name)
        << (record.is_string() ? record.get<std::string>() : record.dump(-1, ' ', true));
  }
}

void check_said(const report::Fleet& fleet) {
  const report::Document document = report::fleet_document(fleet);
  const std::string text =
      report::as_text(document, {.colour = false, .columns = 80, .full = true});
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    must(is_plain(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  report::as_markdown(document);
  report::fleet_csv(fleet);
  const std::string json = report::fleet_json(fleet);
  must(nlohmann::json::parse(json, nullptr, false).is_object());
  const report::PageReport page{document, json};
  report::as_html({&page, 1});
  // The line for other programs: a word a value, and no more than it has.
  const auto line =
      std::find_if(document.blocks.begin(), document.blocks.end(), [](const auto& one) {
        const auto* paragraph = std::get_if<report::Paragraph>(&one.content);
        return paragraph != nullptr && paragraph->kind == report::Paragraph::Kind::kLine;
      });
  must(line != document.blocks.end());
  const std::string& words = std::get<report::Paragraph>(line->content).text;
  const auto values = 4 + std::size(model::EnumNames<model::HostState>::kAll);
  must(static_cast<std::size_t>(std::count(words.begin(), words.end(), '=')) == values);
  must(static_cast<std::size_t>(std::count(words.begin(), words.end(), ' ')) == values - 1);
}

}  // namespace

void fuzz(std::string_view text) {
  if (!model::check_json(text)) return;
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("hosts") || !json["hosts"].is_string() ||
      !json.contains("records") || !json["records"].is_object())
    return;
  const auto hosts = parse_host_ranges(json["hosts"].get<std::string>());
  if (!hosts || hosts->size() > 64) return;  // hosts.cpp has the long lists
  write_records(json["records"]);
  const auto records = read_records(folder());
  must(records.has_value());
  const auto run = run_to_merge(*records, "");
  if (!run) return;
  const report::Fleet fleet = merge(*hosts, *records, *run, kNow);
  // No host is lost, none is counted twice, and what is a number is one.
  must(fleet.hosts.size() == hosts->size());
  std::size_t sum = 0;
  for (const auto& state : model::EnumNames<model::HostState>::kAll)
    sum += fleet.count(state.value);
  must(sum == hosts->size());
  must(fleet.unexpected.size() + fleet.foreign.size() <= records->size());
  for (const report::FleetHost& host : fleet.hosts)
    for (const auto& number :
         {host.gflops, host.peak_fraction, host.busy_fraction, host.times_slower})
      must(!number || std::isfinite(*number));
  for (const report::FleetGroup& group : fleet.groups) {
    must(!group.gflops || std::isfinite(*group.gflops));
    must(!group.limit_gflops || std::isfinite(*group.limit_gflops));
  }
  check_said(fleet);
}
