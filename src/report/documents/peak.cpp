// `hwprof peak`: the FMA peak of each vector width and the bandwidth of each level.
#include <fmt/format.h>

#include "counters/machine/affinity.h"
#include "src/base/format.h"
#include "src/report/documents/inspect.h"

namespace hwprof::report {

Document peak_document(const PeakReport& report) {
  const Peak& peak = report.peak;
  Table widths{.title = "FMA peak", .columns = {{"vectors", true}, {"GFLOP/s"}}};
  for (const auto& [isa, gflops] : peak.by_isa) {
    widths.rows.push_back({"", {isa, significant(gflops, 3)}});
  }
  Table levels{.title = "Bandwidth, GB/s",
               .columns = {{"level", true}, {"array a thread"}, {"read"}, {"copy"}, {"triad"}}};
  for (const Bandwidth& level : peak.bandwidth) {
    levels.rows.push_back({"",
                           {level.level, binary_bytes(static_cast<double>(level.working_set_bytes)),
                            significant(level.read_gbs, 3), significant(level.copy_gbs, 3),
                            significant(level.triad_gbs, 3)}});
  }
  Document document{.title = "hwprof peak"};
  document.add(Headline{fmt::format("{} by {} on {}, {}", si(peak.f32_gflops * 1e9, "FLOP/s"),
                                    peak.isa, report.machine.cpu_name,
                                    counted(static_cast<std::uint64_t>(peak.threads), "thread")),
                        true});
  document.add(Paragraph{
      fmt::format("CPUs {}{}; float32, medians; other work on these CPUs lowers them",
                  format_cpu_list(report.cpus), report.pinned.empty() ? " (not pinned)" : ""),
      Paragraph::Kind::kRemark});
  return document.in(Section::kRoofline).add(std::move(widths)).add(std::move(levels));
}

}  // namespace hwprof::report
