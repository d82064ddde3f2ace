#include "src/report/documents/fleet.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/base/text.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string word_cell(const std::string& text) {
  return text.empty() ? std::string(kAbsent) : text;
}

std::string rate_cell(const std::optional<double>& value) {
  return value ? significant(*value, 3) : std::string(kAbsent);
}

// "a, b and 5 more"
std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= kMostNamed) return join(names);
  const std::vector<std::string> first(names.begin(), names.begin() + kMostNamed);
  return fmt::format("{} and {} more", join(first), names.size() - kMostNamed);
}

std::vector<std::string> hosts_in(const Fleet& fleet, HostState state) {
  std::vector<std::string> names;
  for (const FleetHost& host : fleet.hosts)
    if (host.state == state) names.push_back(host.host);
  return names;
}

std::size_t outliers(const Fleet& fleet) {
  return static_cast<std::size_t>(
      std::count_if(fleet.hosts.begin(), fleet.hosts.end(),
                    [](const FleetHost& host) { return host.times_slower.has_value(); }));
}

// For other programs.
std::string line_of(const Fleet& fleet) {
  std::string line =
      fmt::format("exit={} run_id={} hosts={}", exit_code(fleet), fleet.run_id, fleet.hosts.size());
  for (const auto& state : model::EnumNames<HostState>::kAll)
    line += fmt::format(" {}={}", state.text, fleet.count(state.value));
  return line + fmt::format(" outliers={}", outliers(fleet));
}

Headline headline(const Fleet& fleet) {
  const std::size_t passed = fleet.count(HostState::kPass);
  std::string text = fmt::format("{} of {} pass", passed,
                                 counted(static_cast<std::uint64_t>(fleet.hosts.size()), "host"));
  for (const auto& state : model::EnumNames<HostState>::kAll) {
    const std::vector<std::string> hosts = hosts_in(fleet, state.value);
    if (state.value == HostState::kPass || hosts.empty()) continue;
    text += fmt::format("; {} {}: {}", state.text, hosts.size(), some_of(hosts));
  }
  return {.text = text, .good = exit_code(fleet) == 0};
}

// The slow and the odd, whose checks may all have passed.
void add_remarks(const Fleet& fleet, Document& document) {
  const auto alert = [&](const std::string& text) {
    document.add(Paragraph{text, Paragraph::Kind::kAlert});
  };
  for (const FleetHost& host : fleet.hosts) {
    if (!host.times_slower) continue;
    const double busy = host.busy_fraction.value_or(0);
    alert(fmt::format("{} is {} times slower than hosts of its kind, {} GFLOP/s{}.", host.host,
                      significant(*host.times_slower, 2), rate_cell(host.gflops),
                      busy >= 0.3
                          ? fmt::format("; its CPUs were busy with other work to {}", percent(busy))
                          : ""));
  }
  for (std::size_t i = 1; i < fleet.bits.size(); ++i) {
    const FleetBits& odd = fleet.bits[i];
    if (odd.cpu != fleet.bits[i - 1].cpu) continue;
    alert(fmt::format("Results have other bits than on most hosts with {}: {} ({}).", odd.cpu,
                      some_of(odd.hosts), odd.libraries));
  }
  const auto remark = [&](const std::string& text) {
    document.add(Paragraph{text, Paragraph::Kind::kRemark});
  };
  for (const FleetHost& host : fleet.hosts)
    for (const std::string& note : host.notes) remark(fmt::format("{}: {}.", host.host, note));
  if (!fleet.unexpected.empty())
    remark(fmt::format("Not in the list, and not counted: {}.", some_of(fleet.unexpected)));
  if (!fleet.foreign.empty())
    remark(fmt::format("No records, and left out: {}.", some_of(fleet.foreign)));
  for (const std::string& note : fleet.notes) remark(note);
}

TableRow row_of(const FleetHost& host, std::size_t index) {
  return {"",
          {host.host, std::string(model::name_of(host.state)), word_cell(host.verdict),
           rate_cell(host.gflops), rate_cell(host.peak_fraction), word_cell(host.library),
           word_cell(host.core), word_cell(host.reason)},
          fmt::format("/hosts/{}", index)};
}

Table hosts_table(const Fleet& fleet, const std::string& title, bool all) {
  Table table{.title = title,
              .columns = {{"host", true},
                          {"state", true},
                          {"verdict", true},
                          {"sgemm\nGFLOP/s"},
                          {"of\npeak"},
                          {"library", true},
                          {"core", true},
                          {"reason", true}}};
  for (std::size_t i = 0; i < fleet.hosts.size(); ++i) {
    const FleetHost& host = fleet.hosts[i];
    if (all || host.state != HostState::kPass || host.times_slower)
      table.rows.push_back(row_of(host, i));
  }
  return table;
}

Table groups_table(const Fleet& fleet) {
  Table table{.title = "Hosts of one CPU model and library",
              .columns = {{"CPU", true},
                          {"library", true},
                          {"hosts"},
                          {"median\nGFLOP/s"},
                          {"outlier\nbelow"},
                          {"outliers", true}}};
  for (const FleetGroup& group : fleet.groups) {
    table.rows.push_back(
        {"",
         {group.cpu, group.library, fmt::format("{}", group.hosts), rate_cell(group.gflops),
          rate_cell(group.limit_gflops), word_cell(some_of(group.outliers))},
         fmt::format("/groups/{}", table.rows.size())});
    if (!group.limit_reason.empty())
      table.notes.push_back(
          fmt::format("{}, {}: no outliers, {}", group.cpu, group.library, group.limit_reason));
  }
  return table;
}

Table bits_table(const Fleet& fleet) {
  Table table{
      .title = "Results whose bits differ between hosts of one CPU model",
      .columns = {
          {"CPU", true}, {"bits", true}, {"hosts"}, {"library and core", true}, {"which", true}}};
  for (const FleetBits& same : fleet.bits) {
    table.rows.push_back({"",
                          {same.cpu, same.bits, fmt::format("{}", same.hosts.size()),
                           same.libraries, some_of(same.hosts)},
                          fmt::format("/bits/{}", table.rows.size())});
  }
  return table;
}

}  // namespace

Document fleet_document(const Fleet& fleet) {
  Document document{.title = fmt::format("hwprof fleet: run {}", fleet.run_id)};
  document.add(Paragraph{line_of(fleet), Paragraph::Kind::kLine});
  document.add(headline(fleet));
  add_remarks(fleet, document);
  document.in(Section::kChecks);
  document.add(Chart{"hosts", "The hosts of the list, by CPU model and library"});
  document.add(hosts_table(fleet, "Hosts to look at", false), Detail::kBrief);
  document.add(hosts_table(fleet, "Hosts", true), Detail::kFull);
  document.add(groups_table(fleet));
  document.add(bits_table(fleet));
  return document;
}

}  // namespace hwprof::report
