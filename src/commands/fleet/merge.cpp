#include "src/commands/fleet/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "src/base/text.h"
#include "src/base/utc.h"
#include "src/measure/statistics.h"
#include "src/model/check_record.h"

namespace hwprof {
namespace {

using model::HostState;

// Below as many no host can be told from the others.
constexpr std::size_t kFewestOfGroup = 4;
// An outlier is slower than this share of the median, and than five deviations: runs of one binary
// differ by 3 % (src/measure/statistics.h), hosts in service by more.
constexpr double kLeastLoss = 0.15, kDeviations = 5, kDeviationOfMad = 1.4826;
constexpr std::int64_t kClockToleranceS = 300;

bool same_host(const std::string& a, const std::string& b) {
  const std::string x = lower(a), y = lower(b);
  if (x == y) return true;
  const bool short_x = x.find('.') == std::string::npos, short_y = y.find('.') == std::string::npos;
  return short_x != short_y && first_label(x) == first_label(y);
}

std::string library_of(const report::Check& check) {
  std::string text(to_text(check.blas.provider));
  if (!check.blas.version.empty()) text += " " + check.blas.version;
  return text.empty() ? "none" : text;
}

HostState state_of(model::Outcome outcome) {
  if (outcome == model::Outcome::kPass) return HostState::kPass;
  return outcome == model::Outcome::kFail ? HostState::kFail : HostState::kUnknown;
}

void take_check(const FoundRecord& found, std::int64_t now_s, report::FleetHost& host) {
  const report::Check& check = *found.check;
  host.state = state_of(check.outcome);
  host.reason = check.reason;
  host.fix = check.blas.fix;
  host.file = found.file;
  host.run_id = check.run_id;
  host.verdict = to_text(check.blas.verdict);
  host.cpu = check.machine.cpu_name;
  host.library = library_of(check);
  host.core = check.blas.core;
  host.gflops = check.gflops;
  host.gflops_reason = check.gflops_reason;
  host.peak_fraction = check.peak_fraction;
  host.busy_fraction = check.busy_fraction;
  host.bits = check.blas.results.bits;
  host.kernel = check.machine.kernel;
  host.microcode = check.microcode;
  host.microcode_reason = check.microcode_reason;
  host.hwprof = check.version;
  host.ended_utc = check.ended_utc;
  const std::int64_t ahead_s = unix_seconds(check.ended_utc).value_or(now_s) - now_s;
  if (ahead_s > kClockToleranceS)
    host.notes.push_back(fmt::format(
        "its record is of {}, which is yet to come: one clock is wrong", check.ended_utc));
  if (!found.host.empty() && !same_host(found.host, check.host))
    host.notes.push_back(
        fmt::format("{} is of {}, whatever its name says", found.file, check.host));
}

class Merge {
 public:
  Merge(const std::vector<ExpectedHost>& expected, const std::vector<FoundRecord>& records,
        const std::string& run_id, std::int64_t now_s)
      : run_id_(run_id), now_s_(now_s), records_of_(expected.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string name = lower(expected[i].name);
      by_name_.emplace(name, i);
      by_label_.emplace(first_label(name), i);
    }
    for (const FoundRecord& record : records) {
      if (const auto owner = owner_of(record, expected))
        records_of_[*owner].push_back(&record);
      else
        unowned_.push_back(&record);
    }
  }

  report::FleetHost host(const ExpectedHost& expected, std::size_t index) const {
    report::FleetHost host;
    host.host = expected.name;
    std::vector<const FoundRecord*> now, broken, before;
    for (const FoundRecord* record : records_of_[index]) {
      const bool of_run = (record->check ? record->check->run_id : record->run_id) == run_id_;
      (of_run ? (record->check ? now : broken) : before).push_back(record);
    }
    if (!now.empty()) {
      const FoundRecord& last = newest(now);
      take_check(last, now_s_, host);
      if (now.size() > 1)
        host.notes.push_back(fmt::format("it has {} records of this run, of which {} is the newest",
                                         now.size(), last.file));
      if (!expected.unavailable.empty())
        host.notes.push_back("the list has it as " + expected.unavailable);
    } else if (!broken.empty()) {
      host.state = HostState::kUnreadable;
      host.file = broken.front()->file;
      host.reason = broken.front()->problem;
    } else if (!expected.unavailable.empty()) {
      host.state = HostState::kUnavailable;
      host.reason = expected.unavailable;
    } else if (!before.empty()) {
      const FoundRecord& last = newest(before);
      host.state = HostState::kStale;
      host.file = last.file;
      host.run_id = last.check ? last.check->run_id : last.run_id;
      host.ended_utc = last.check ? last.check->ended_utc : "";
      host.reason = fmt::format("its newest record is of run {}", host.run_id);
    } else {
      host.reason = "nothing of it was found";
    }
    return host;
  }

  // What no host of the list has.
  void leftovers(report::Fleet& fleet) const {
    std::set<std::string> unexpected;
    for (const FoundRecord* record : unowned_) {
      if (record->check)
        unexpected.insert(record->check->host);
      else
        fleet.foreign.push_back(record->file);
    }
    fleet.unexpected.assign(unexpected.begin(), unexpected.end());
  }

 private:
  // At most one, so that no record counts twice: the host of just that name, else the only one that
  // it could be.
  [[nodiscard]] std::optional<std::size_t> owner_of(
      const FoundRecord& record, const std::vector<ExpectedHost>& expected) const {
    const std::string host = record.check ? record.check->host : record.host;
    if (const auto exact = by_name_.find(lower(host)); exact != by_name_.end())
      return exact->second;
    std::optional<std::size_t> owner;
    const auto [begin, end] = by_label_.equal_range(first_label(lower(host)));
    for (auto at = begin; at != end; ++at) {
      if (!same_host(host, expected[at->second].name)) continue;
      if (owner) return std::nullopt;
      owner = at->second;
    }
    return owner;
  }

  static const FoundRecord& newest(const std::vector<const FoundRecord*>& found) {
    return **std::max_element(found.begin(), found.end(), [](const auto* a, const auto* b) {
      const auto time = [](const FoundRecord& record) {
        return record.check ? utc_time(record.check->ended_utc) : std::nullopt;
      };
      return time(*a) < time(*b);
    });
  }

  const std::string& run_id_;
  std::int64_t now_s_;
  std::map<std::string, std::size_t> by_name_;
  std::multimap<std::string, std::size_t> by_label_;
  std::vector<std::vector<const FoundRecord*>> records_of_;
  std::vector<const FoundRecord*> unowned_;
};

// Below it a rate is not one of these.
double limit_of(const std::vector<double>& rates, double middle) {
  std::vector<double> distances;
  for (const double rate : rates) distances.push_back(std::abs(rate - middle));
  const double deviation = kDeviationOfMad * median(std::move(distances));
  return middle - std::max(kDeviations * deviation, kLeastLoss * middle);
}

void judge_group(const std::vector<report::FleetHost*>& hosts, model::FleetGroup& group) {
  group.hosts = hosts.size();
  std::vector<double> rates;
  for (const report::FleetHost* host : hosts)
    if (host->gflops) rates.push_back(*host->gflops);
  if (!rates.empty()) group.gflops = median(rates);
  if (rates.size() < kFewestOfGroup) {
    group.limit_reason = fmt::format("fewer than {} hosts with a rate", kFewestOfGroup);
    return;
  }
  group.limit_gflops = limit_of(rates, *group.gflops);
  std::vector<report::FleetHost*> slow;
  for (report::FleetHost* host : hosts)
    if (host->gflops && *host->gflops < *group.limit_gflops) slow.push_back(host);
  std::stable_sort(slow.begin(), slow.end(),
                   [](const auto* a, const auto* b) { return *a->gflops < *b->gflops; });
  for (report::FleetHost* host : slow) {
    if (*host->gflops > 0) host->times_slower = *group.gflops / *host->gflops;
    group.outliers.push_back(host->host);
  }
}

bool has_record(const report::FleetHost& host) {
  return host.state == HostState::kPass || host.state == HostState::kFail ||
         host.state == HostState::kUnknown;
}

void add_groups(report::Fleet& fleet) {
  std::map<std::pair<std::string, std::string>, std::vector<report::FleetHost*>> by_kind;
  for (report::FleetHost& host : fleet.hosts)
    if (has_record(host)) by_kind[{host.cpu, host.library}].push_back(&host);
  for (const auto& [kind, hosts] : by_kind) {
    model::FleetGroup& group = fleet.groups.emplace_back();
    group.cpu = kind.first;
    group.library = kind.second;
    judge_group(hosts, group);
  }
  std::stable_sort(fleet.groups.begin(), fleet.groups.end(),
                   [](const auto& a, const auto& b) { return a.hosts > b.hosts; });
}

void add_bits(report::Fleet& fleet) {
  std::map<std::string, std::map<std::string, std::vector<const report::FleetHost*>>> by_cpu;
  for (const report::FleetHost& host : fleet.hosts)
    if (has_record(host) && !host.bits.empty()) by_cpu[host.cpu][host.bits].push_back(&host);
  for (const auto& [cpu, by_bits] : by_cpu) {
    if (by_bits.size() < 2) continue;
    const std::size_t first = fleet.bits.size();
    for (const auto& [bits, hosts] : by_bits) {
      std::set<std::string> libraries;
      model::FleetBits& same = fleet.bits.emplace_back(model::FleetBits{cpu, bits, "", {}});
      for (const report::FleetHost* host : hosts) {
        libraries.insert(host->library + (host->core.empty() ? "" : " " + host->core));
        same.hosts.push_back(host->host);
      }
      same.libraries = join(libraries);
    }
    std::stable_sort(fleet.bits.begin() + static_cast<std::ptrdiff_t>(first), fleet.bits.end(),
                     [](const auto& a, const auto& b) { return a.hosts.size() > b.hosts.size(); });
  }
}

// Records of an older hwprof may have been measured otherwise.
void note_versions(report::Fleet& fleet) {
  std::map<std::string, std::size_t> count;
  for (const report::FleetHost& host : fleet.hosts)
    if (has_record(host)) ++count[host.hwprof];
  if (count.size() < 2) return;
  const auto most = std::max_element(
      count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (report::FleetHost& host : fleet.hosts) {
    if (has_record(host) && host.hwprof != most->first)
      host.notes.push_back(
          fmt::format("checked by hwprof {}, most by {}", host.hwprof, most->first));
  }
}

}  // namespace

std::string first_label(const std::string& host) { return host.substr(0, host.find('.')); }

void name_record(FoundRecord& record) {
  constexpr std::string_view kEnding = ".json";
  const std::string_view name = record.file;
  const std::size_t at = name.find('@');
  if (at == std::string_view::npos || !name.ends_with(kEnding) ||
      name.size() < at + 1 + kEnding.size())
    return;
  record.host = name.substr(0, at);
  record.run_id = name.substr(at + 1, name.size() - at - 1 - kEnding.size());
}

Result<std::string> run_to_merge(const std::vector<FoundRecord>& records,
                                 const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  std::set<std::string> runs;
  for (const FoundRecord& record : records)
    if (record.check) runs.insert(record.check->run_id);
  if (runs.size() == 1) return *runs.begin();
  constexpr std::size_t kMostNamed = 10;
  if (runs.empty())
    return usage_error("the folder has no record of any run",
                       "hwprof check --out DIR --run-id ID writes one");
  const std::vector<std::string> last(
      runs.size() > kMostNamed ? std::prev(runs.end(), kMostNamed) : runs.begin(), runs.end());
  return usage_error(fmt::format("the folder has records of {} runs", runs.size()),
                     fmt::format("name one with --run-id: {}", join(last)));
}

report::Fleet merge(const std::vector<ExpectedHost>& expected,
                    const std::vector<FoundRecord>& records, const std::string& run_id,
                    std::int64_t now_s) {
  report::Fleet fleet;
  fleet.run_id = run_id;
  const Merge merge(expected, records, run_id, now_s);
  for (std::size_t i = 0; i < expected.size(); ++i)
    fleet.hosts.push_back(merge.host(expected[i], i));
  merge.leftovers(fleet);
  add_groups(fleet);
  add_bits(fleet);
  note_versions(fleet);
  return fleet;
}

}  // namespace hwprof
