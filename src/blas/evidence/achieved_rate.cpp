#include "src/blas/evidence/achieved_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

// Twice the time of single precision: a vector holds half as many numbers.
double weight_of(std::string_view symbol) {
  for (const std::string_view prefix : {"scipy_", "cblas_"}) {
    if (symbol.starts_with(prefix)) symbol.remove_prefix(prefix.size());
  }
  return symbol.starts_with('d') || symbol.starts_with('z') ? 2 : 1;
}

// Calls without a time, such as dot products, are left out where they are less of all FLOP.
constexpr double kNegligible = 0.02;

struct Work {
  double flops = 0;
  double f32_flops = 0;  // as if it were single precision
  double time_ns = 0;

  void add(const report::CallSite& site) {
    flops += *site.flops;
    f32_flops += *site.flops * weight_of(site.symbol);
    time_ns += site.time_ns.value_or(0);
  }
};

struct Total {
  Work all, timed;
};

Total total(const report::Called& called) {
  Total total;
  for (const report::CallSite& site : called.calls) {
    if (site.flops.value_or(0) <= 0) continue;
    total.all.add(site);
    if (site.time_ns.value_or(0) > 0) total.timed.add(site);
  }
  return total;
}

bool is_blas(const std::string& path, const std::vector<report::LoadedLibrary>& loaded) {
  return std::any_of(loaded.begin(), loaded.end(), [&](const auto& library) {
    return library.path == path && facts(library.provider).is_blas;
  });
}

std::uint64_t blas_samples(const report::Executed& executed,
                           const std::vector<report::LoadedLibrary>& loaded) {
  std::uint64_t samples = 0;
  for (const report::SampleShare& share : executed.by_library) {
    if (is_blas(share.name, loaded)) samples += share.samples;
  }
  return samples;
}

// Threads seen in the loops of a BLAS; 1 where none was sampled.
int blas_threads(const report::Executed& executed,
                 const std::vector<report::LoadedLibrary>& loaded) {
  for (const report::LibraryLoops& loops : executed.loops) {
    if (is_blas(loops.library, loaded)) return loops.threads;
  }
  return 1;
}

}  // namespace

report::AchievedRate achieved_rate(const report::Called& called, const report::Executed& executed,
                                   const std::vector<report::LoadedLibrary>& loaded,
                                   std::optional<double> core_peak_gflops) {
  report::AchievedRate result;
  const Total sum = total(called);
  const bool timed = sum.timed.flops >= (1 - kNegligible) * sum.all.flops;
  const Work& work = timed ? sum.timed : sum.all;
  if (work.flops <= 0) {
    result.reason = called.how == "none"   ? "calls were not watched"
                    : called.calls.empty() ? "no BLAS call"
                                           : "no call with a shape to count FLOP by";
    return result;
  }
  const int threads = blas_threads(executed, loaded);
  double seconds = 0;
  if (timed) {
    seconds = work.time_ns * 1e-9;
    result.how = "FLOP of the shapes / time inside the calls";
  } else if (executed.frequency_hz > 0) {
    const double cpu_seconds =
        static_cast<double>(blas_samples(executed, loaded)) / executed.frequency_hz;
    seconds = cpu_seconds / threads;
    result.how = "FLOP of the shapes / CPU time sampled in the library";
  }
  if (seconds <= 0) {
    result.how.clear();
    result.reason = "the time inside the calls is not known";
    return result;
  }
  result.gflops = work.flops / seconds * 1e-9;
  if (core_peak_gflops.value_or(0) > 0) {
    result.peak_fraction = work.f32_flops / seconds * 1e-9 / (*core_peak_gflops * threads);
    result.how += fmt::format(
        "; peak: {} of one core x {} {}",
        work.f32_flops > work.flops ? "float32 FMA (halved for float64)" : "float32 FMA", threads,
        threads == 1 ? "thread" : "threads");
  }
  return result;
}

}  // namespace hwprof::blas
