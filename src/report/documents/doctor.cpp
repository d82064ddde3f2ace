// `hwprof doctor`: what is to be mended first, each with its command; then what is to be known;
// then what is well.
#include <fmt/format.h>

#include <algorithm>

#include "counters/machine/affinity.h"
#include "src/report/data/json_parts.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/format.h"
#include "src/report/render/page.h"

namespace hwprof::report {
namespace {

struct Section {
  State state;
  const char* name;
  const char* title;
};
// In the order of the page.
constexpr Section kSections[] = {{State::kMend, "mend", "To mend"},
                                 {State::kNote, "note", "To know"},
                                 {State::kUnknown, "unknown", "Not visible from here"},
                                 {State::kGood, "good", "Good"}};

std::uint64_t count(const Doctor& doctor, State state) {
  return static_cast<std::uint64_t>(
      std::count_if(doctor.findings.begin(), doctor.findings.end(),
                    [state](const Finding& finding) { return finding.state == state; }));
}

std::string headline(const Doctor& doctor) {
  const std::uint64_t mend = count(doctor, State::kMend);
  const std::string others =
      fmt::format("{} to know, {} good", count(doctor, State::kNote), count(doctor, State::kGood));
  if (mend == 0) return fmt::format("Nothing stands in the way: {}", others);
  return fmt::format("{} in the way of good numbers; {}", counted(mend, "thing"), others);
}

}  // namespace

std::string to_string(State state) {
  const auto* found =
      std::find_if(std::begin(kSections), std::end(kSections),
                   [state](const Section& section) { return section.state == state; });
  return found->name;
}

bool Doctor::clean() const { return count(*this, State::kMend) == 0; }

std::string doctor_text(const Doctor& doctor, const TextStyle& style) {
  Page page(style);
  page.paragraph(headline(doctor), 0, 0, doctor.clean() ? Tone::kGood : Tone::kBad);
  const Machine& machine = doctor.machine;
  page.paragraph(
      fmt::format("{}, Linux {}{}, CPUs {}", machine.cpu_name, machine.kernel,
                  machine.virtualized ? ", virtual machine" : "", format_cpu_list(doctor.cpus)),
      0, 2);
  std::size_t width = 0;
  for (const Finding& finding : doctor.findings) width = std::max(width, finding.name.size());
  const int hang = static_cast<int>(width) + 4;
  for (const Section& section : kSections) {
    if (count(doctor, section.state) == 0) continue;
    page.blank();
    page.paragraph(section.title, 0, 0, Tone::kTitle);
    for (const Finding& finding : doctor.findings) {
      if (finding.state != section.state) continue;
      page.paragraph(fmt::format("{:<{}}  {}", finding.name, width, finding.finding), 2, hang);
      if (!finding.consequence.empty()) page.paragraph(finding.consequence, hang, hang);
      if (finding.remedy.empty()) continue;
      const char* label = finding.state == State::kMend ? "fix: " : "try: ";
      page.paragraph(label + finding.remedy, hang, hang + 5);
    }
  }
  return page.take();
}

std::string doctor_json(const Doctor& doctor) {
  Json checks = Json::array();
  for (const Finding& finding : doctor.findings) {
    checks.push_back({{"name", finding.name},
                      {"state", to_string(finding.state)},
                      {"finding", finding.finding},
                      {"consequence", or_null(finding.consequence)},
                      {"remedy", or_null(finding.remedy)}});
  }
  return json_text({{"schema", "hwprof.doctor/1"},
                    {"hwprof", {{"version", doctor.version}}},
                    {"cpu", doctor.machine.cpu_name},
                    {"kernel", doctor.machine.kernel},
                    {"virtualized", doctor.machine.virtualized},
                    {"cpus", doctor.cpus},
                    {"clean", doctor.clean()},
                    {"checks", checks}});
}

}  // namespace hwprof::report
