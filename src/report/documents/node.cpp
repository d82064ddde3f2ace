// `hwprof node`: a line a process, then what is wrong with which, then the machine's own BLAS.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "src/base/format.h"
#include "src/base/text.h"
#include "src/report/documents/content.h"
#include "src/report/documents/inspect.h"

namespace hwprof::report {
namespace {

bool is_bad(VerdictKind verdict) {
  using enum VerdictKind;
  return verdict == kSuboptimal || verdict == kUnoptimised || verdict == kWrongResults;
}

std::string processes_in_words(std::uint64_t count) {
  return count == 1 ? "1 process" : fmt::format("{} processes", count);
}

std::string variables_cell(const NodeProcess& process) {
  std::vector<std::string> all;
  for (const auto& [name, value] : process.environment)
    all.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(all, " "));
}

// "PID 12, 13 and 4 more"
std::string pids_in_words(const std::vector<const NodeProcess*>& processes) {
  constexpr std::size_t kNamed = 6;
  std::string text = "PID ";
  for (std::size_t i = 0; i < std::min(processes.size(), kNamed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", processes[i]->pid);
  if (processes.size() > kNamed) text += fmt::format(" and {} more", processes.size() - kNamed);
  return text;
}

// A line a set, so that a process is one line.
std::vector<std::string> sets_of_variables(const Node& node) {
  std::map<std::string, std::vector<const NodeProcess*>> sets;
  for (const NodeProcess& process : node.processes)
    if (!process.environment.empty()) sets[variables_cell(process)].push_back(&process);
  std::vector<std::string> lines;
  for (const auto& [variables, processes] : sets)
    lines.push_back(fmt::format("{}: {}", variables, pids_in_words(processes)));
  return lines;
}

Table processes_table(const Node& node) {
  const auto any = [&](auto has) {
    return std::any_of(node.processes.begin(), node.processes.end(), has);
  };
  const bool jobs = any([](const NodeProcess& process) { return !process.job.empty(); });
  const bool variables =
      any([](const NodeProcess& process) { return !process.environment.empty(); });
  const bool interval =
      any([](const NodeProcess& process) { return process.cpus_used_over == CpuOver::kInterval; });
  Table table{.title = "Processes with a BLAS, most CPU time first",
              .columns = {{"PID"},
                          {"user", true},
                          {"program", true},
                          {"BLAS", true},
                          {"BLAS\nthr."},
                          {"CPUs"},
                          {"verdict", true}}};
  if (jobs) table.columns.push_back({"job", true});
  if (variables) table.columns.push_back({"variables", true, true});
  for (const NodeProcess& process : node.processes) {
    TableRow row{
        "",
        {std::to_string(process.pid), process.user, process.program, model::blas_in_words(process),
         model::blas_threads_in_words(process),
         process.cpus_used ? fmt::format("{:.2f}", *process.cpus_used) : std::string(kAbsent),
         std::string(to_text(process.verdict))},
        fmt::format("/processes/{}", table.rows.size())};
    if (jobs) row.cells.push_back(process.job);
    if (variables) row.cells.push_back(variables_cell(process));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return table;
  table.notes = {interval
                     ? "CPUs: CPU time since the last look by its time (of a process that is new, "
                       "since it began)"
                     : "CPUs: CPU time since the process began by its age"};
  table.brief = sets_of_variables(node);
  table.brief.push_back(table.notes.front());
  return table;
}

// Processes with the same cause are told together.
Fields causes(const Node& node, const char* title, bool bad) {
  std::vector<std::pair<std::string, std::vector<const NodeProcess*>>> by_cause;
  for (const NodeProcess& process : node.processes) {
    const bool wanted = bad ? is_bad(process.verdict)
                            : !is_bad(process.verdict) && process.verdict != VerdictKind::kOptimal;
    if (!wanted) continue;
    const std::string cause = process.why + "\n" + process.fix;
    const auto known = std::find_if(by_cause.begin(), by_cause.end(),
                                    [&](const auto& one) { return one.first == cause; });
    if (known != by_cause.end()) {
      known->second.push_back(&process);
    } else {
      by_cause.push_back({cause, {&process}});
    }
  }
  Fields fields{title, {}, !bad};
  for (const auto& [cause, processes] : by_cause) {
    const NodeProcess& one = *processes.front();
    Field field{std::string(to_text(one.verdict)),
                fmt::format("{}: {}", pids_in_words(processes), one.why)};
    if (!one.fix.empty()) field.more.push_back((bad ? "fix: " : "surer: ") + one.fix);
    fields.rows.push_back(std::move(field));
  }
  return fields;
}

std::string headline(const Node& node) {
  if (node.processes.empty()) {
    return fmt::format("No process{} has a BLAS mapped",
                       node.user.empty() ? "" : " of " + node.user);
  }
  std::map<VerdictKind, std::uint64_t> kinds;
  for (const NodeProcess& process : node.processes) ++kinds[process.verdict];
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds)
    parts.push_back(fmt::format("{} {}", count, to_text(kind)));
  return fmt::format("{} {} a BLAS mapped: {}", processes_in_words(node.processes.size()),
                     node.processes.size() == 1 ? "has" : "have", join(parts));
}

}  // namespace

Document node_document(const Node& node) {
  const bool any_bad = std::any_of(node.processes.begin(), node.processes.end(),
                                   [](const auto& process) { return is_bad(process.verdict); });
  const bool all_good =
      std::all_of(node.processes.begin(), node.processes.end(),
                  [](const auto& process) { return process.verdict == VerdictKind::kOptimal; });
  Document document{.title = "hwprof node"};
  document.add(Headline{headline(node), !any_bad, "", any_bad || all_good});
  document.add(Paragraph{
      fmt::format(
          "Looked at {} at {} in {:.0f} ms; what is loaded need not be called: hwprof attach PID "
          "tells",
          processes_in_words(node.looked_at), node.started_utc, 1000 * node.look_s),
      Paragraph::Kind::kRemark});
  for (const NodeUnread& unread : node.unread) {
    document.add(Paragraph{
        fmt::format("{} not readable, as PID {}: {}", processes_in_words(unread.processes),
                    unread.first_pid, unread.reason),
        Paragraph::Kind::kRemark});
  }
  document.in(Section::kChecks).add(processes_table(node));
  document.add(causes(node, "To fix", true));
  document.add(causes(node, "Not known", false), Detail::kFull);
  if (node.blas) {
    BlasSurvey survey;
    survey.version = node.version;
    survey.machine = node.machine;
    survey.blas = *node.blas;
    survey.libraries = node.libraries;
    document.in(Section::kLadder)
        .add(Paragraph{"Programs that are started now:", Paragraph::Kind::kPlain});
    for (Block& block : survey_document(survey).blocks) document.blocks.push_back(std::move(block));
  } else if (!node.blas_reason.empty()) {
    document.add(Paragraph{"What programs get that are started now: " + node.blas_reason,
                           Paragraph::Kind::kRemark});
  }
  return document;
}

}  // namespace hwprof::report
