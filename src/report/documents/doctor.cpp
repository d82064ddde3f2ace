// `hwprof doctor`: what is to be fixed first, each with its command; then what is to be known;
// then what is well.
#include <fmt/format.h>

#include <algorithm>

#include "counters/machine/affinity.h"
#include "src/base/format.h"
#include "src/report/documents/inspect.h"

namespace hwprof::report {
namespace {

struct Group {
  State state;
  const char* title;
};
// In the order of the page.
constexpr Group kGroups[] = {{State::kMend, "To fix"},
                             {State::kNote, "To know"},
                             {State::kUnknown, "Not visible from here"},
                             {State::kGood, "Good"}};

std::uint64_t count(const Doctor& doctor, State state) {
  return static_cast<std::uint64_t>(
      std::count_if(doctor.findings.begin(), doctor.findings.end(),
                    [state](const Finding& finding) { return finding.state == state; }));
}

std::string headline(const Doctor& doctor) {
  const std::uint64_t to_fix = count(doctor, State::kMend);
  const std::string others =
      fmt::format("{} to know, {} good", count(doctor, State::kNote), count(doctor, State::kGood));
  if (to_fix == 0) return fmt::format("Nothing to fix: {}", others);
  return fmt::format("{} to fix for good numbers; {}", counted(to_fix, "thing"), others);
}

}  // namespace

std::string to_string(State state) { return std::string(model::name_of(state)); }

Document doctor_document(const Doctor& doctor) {
  const Machine& machine = doctor.machine;
  Document document{.title = "hwprof doctor"};
  document.add(Headline{headline(doctor), doctor.clean()});
  document.add(Paragraph{
      fmt::format("{}, Linux {}{}, CPUs {}", machine.cpu_name, machine.kernel,
                  machine.virtualized ? ", virtual machine" : "", format_cpu_list(doctor.cpus)),
      Paragraph::Kind::kRemark});
  document.in(Section::kChecks);
  for (const Group& group : kGroups) {
    Fields fields{group.title};
    for (const Finding& finding : doctor.findings) {
      if (finding.state != group.state) continue;
      Field& field = fields.rows.emplace_back(Field{finding.name, finding.finding});
      if (!finding.consequence.empty()) field.more.push_back(finding.consequence);
      const char* label = finding.state == State::kMend ? "fix: " : "try: ";
      if (!finding.remedy.empty()) field.more.push_back(label + finding.remedy);
    }
    document.add(std::move(fields));
  }
  return document;
}

}  // namespace hwprof::report
