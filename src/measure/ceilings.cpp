#include "src/measure/ceilings.h"

#include "src/measure/peak.h"
#include "src/measure/roofline.h"
#include "src/measure/statistics.h"

namespace hwprof {

report::Peak measure_peak(const Machine& machine, ThreadTeam& team) {
  constexpr int kRounds = 5;
  constexpr double kSliceSeconds = 0.004;
  report::Peak peak;
  peak.threads = static_cast<int>(team.size());
  std::vector<std::vector<double>> rates(fma_kernels().size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      rates[i].push_back(team_peak_gflops(team, fma_kernels()[i], kSliceSeconds));
    }
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    peak.by_isa.emplace_back(fma_kernels()[i].isa, median(rates[i]));
  }
  const std::vector<report::Bandwidth> levels = cache_levels(machine, peak.threads);
  peak.bandwidth_by_size =
      measure_bandwidth(largest_working_set(levels, machine.memory_bytes, peak.threads), team);
  peak.bandwidth = bandwidth_of(levels, peak);
  return peak;
}

void settle_peak(report::Peak& peak, const std::vector<double>& slices) {
  peak.isa = fastest_fma_kernel().isa;
  for (auto& [isa, gflops] : peak.by_isa) {
    if (isa != peak.isa) continue;
    if (!slices.empty()) gflops = median(slices);
    peak.f32_gflops = gflops;
  }
}

}  // namespace hwprof
