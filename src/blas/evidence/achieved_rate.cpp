#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "src/blas/evidence/executed.h"
#include "src/blas/providers/providers.h"
#include "src/observe/routines/blas_routine.h"

namespace hwprof::blas {
namespace {

// "dgemm_" of "scipy_cblas_dgemm_".
std::string_view bare(std::string_view symbol) {
  for (const std::string_view prefix : {"scipy_", "cblas_"}) {
    if (symbol.starts_with(prefix)) symbol.remove_prefix(prefix.size());
  }
  return symbol;
}

// Twice the time of single precision: a vector holds half as many numbers.
double weight_of(std::string_view symbol) {
  const std::string_view name = bare(symbol);
  return name.starts_with('d') || name.starts_with('z') ? 2 : 1;
}

// bfloat16 and half have a peak of their own.
bool is_narrow(std::string_view symbol) {
  const auto& products = observe::routine_names::kNarrowProducts;
  return std::any_of(std::begin(products), std::end(products),
                     [&](std::string_view product) { return bare(symbol).starts_with(product); });
}

// Of all FLOP. Those of BLAS 1 and 2, which have no time, run at a fiftieth of the speed of others:
// 0.2 % of the FLOP take up to a tenth of the time.
constexpr double kNegligible = 0.002;
constexpr double kLeastShare = 0.9;  // of the time: a rate of less speaks of something else
constexpr std::uint64_t kEnoughSamples = 30;

struct CalledWork {
  double flops = 0;
  double f32_flops = 0;  // as if it were single precision
  double time_ns = 0;

  void add(const report::CallSite& site) {
    flops += site.flops.value_or(0);
    f32_flops += site.flops.value_or(0) * weight_of(site.symbol);
    time_ns += site.time_ns.value_or(0);
  }
};

struct Total {
  CalledWork all, timed;
  double unknown_ns = 0;  // in calls whose FLOP are not known
  std::string untold;     // a routine without FLOP and without a time; "" none
};

bool is_product_of_blas(const std::string& symbol) {
  observe::Routine routine;
  return observe::find_routine(symbol.c_str(), routine) && routine.blas;
}

// In calls of LAPACK, but for those of a BLAS within them that were seen: a LAPACK that calls
// itself, or what it is linked with, is not.
double lapack_ns(const report::Called& called) {
  std::set<std::string> servers;
  for (const report::CallSite& site : called.lapack) servers.insert(site.library);
  double ns = 0;
  for (const report::CallSite& site : called.lapack)
    if (!servers.contains(site.caller)) ns += site.time_ns.value_or(0);
  for (const report::CallSite& site : called.calls)
    if (servers.contains(site.caller)) ns -= site.time_ns.value_or(0);
  return std::max(0.0, ns);
}

Total total(const report::Called& called) {
  Total total;
  total.unknown_ns = lapack_ns(called);
  for (const report::CallSite& site : called.calls) {
    if (!is_product_of_blas(site.symbol)) continue;
    if (!site.flops) {
      total.unknown_ns += site.time_ns.value_or(0);
      if (!site.time_ns) total.untold = site.symbol;
      continue;
    }
    if (*site.flops <= 0) continue;  // it moves numbers
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

// Of the BLAS that computed most; null where none was sampled.
const report::LibraryLoops* blas_loops(const report::Executed& executed,
                                       const std::vector<report::LoadedLibrary>& loaded) {
  for (const report::LibraryLoops& loops : executed.loops) {
    if (is_blas(loops.library, loaded)) return &loops;
  }
  return nullptr;
}

// Wall time of the calls whose FLOP are known, and how many cores worked at once in it.
struct Span {
  double seconds = 0, cores = 1;
  std::string how;
};

Span span_of(const Total& sum, bool timed, const report::Called& called,
             const report::Executed& executed, const std::vector<report::LoadedLibrary>& loaded) {
  const report::LibraryLoops* loops = blas_loops(executed, loaded);
  const double at_once = loops != nullptr ? std::max(1.0, loops->at_once) : 1;
  const std::uint64_t samples = executed.frequency_hz > 0 ? blas_samples(executed, loaded) : 0;
  const double cpu_seconds = samples > 0 ? static_cast<double>(samples) / executed.frequency_hz : 0;
  if (!timed) {
    return {
        cpu_seconds / at_once, at_once,
        "FLOP of the shapes / CPU time sampled in the library, of as many cores as ran at once"};
  }
  const double summed = (sum.timed.time_ns + sum.unknown_ns) * 1e-9;
  const double wall = called.wall_ns.value_or(0) > 0 ? *called.wall_ns * 1e-9 : summed;
  Span span{wall * sum.timed.time_ns * 1e-9 / summed, std::max(at_once, summed / wall),
            "FLOP of the shapes / wall time inside the calls"};
  // Threads of the BLAS itself are in no call, but in the samples.
  if (samples >= kEnoughSamples && loops != nullptr)
    span.cores = std::clamp(cpu_seconds / wall, 1.0, std::max(1.0, 1.0 * loops->threads));
  return span;
}

std::string why_no_work(const report::Called& called) {
  return called.how == "none"   ? "calls were not watched"
         : called.calls.empty() ? "no BLAS call"
                                : "no call with a shape to count FLOP by";
}

// That one library takes for a product; absent where it did not say.
std::optional<int> threads_of(const std::string& library, const report::BlasEvidence& evidence) {
  for (const report::ChosenCore& core : evidence.chosen_cores) {
    if (core.path == library && core.threads) return core.threads;
  }
  for (const report::LoadedLibrary& loaded : evidence.loaded) {
    const int always = loaded.path == library ? facts(loaded.provider).threads : 0;
    if (always > 0) return always;
  }
  return std::nullopt;
}

std::string lost_text(const report::Called& called) {
  return fmt::format("{} records of calls were lost", called.lost);
}

std::string why_no_peak(const report::CallSite& site, const report::BlasEvidence& evidence) {
  if (evidence.called.lost > 0) return lost_text(evidence.called);
  if (site.time_ns.value_or(0) <= 0) return "these calls are not timed";
  if (!site.flops) return "the FLOP of these calls are not known";
  if (*site.flops <= 0) return "these calls compute nothing";
  if (is_narrow(site.symbol)) return "no peak of this precision is measured";
  return evidence.achieved_rate.core_peak_gflops.value_or(0) > 0 ? "" : "no peak was measured";
}

// Of the one routine whose calls took all the time, what is said of all of them: samples tell how
// many cores worked in it.
std::optional<double> fraction_of_all(const report::CallSite& site,
                                      const report::BlasEvidence& evidence) {
  const auto& sites = evidence.called.calls;
  const auto timed = std::count_if(sites.begin(), sites.end(),
                                   [](const auto& other) { return other.time_ns.value_or(0) > 0; });
  const auto& shares = evidence.executed.by_library;
  const bool sampled = std::any_of(shares.begin(), shares.end(), [&](const auto& share) {
    return share.name == site.library && share.samples >= kEnoughSamples;
  });
  const bool at_work = blas_loops(evidence.executed, evidence.loaded) != nullptr;
  return timed == 1 && sampled && at_work ? evidence.achieved_rate.peak_fraction : std::nullopt;
}

constexpr std::string_view kUnknownThreads =
    "how many threads of its library worked in these calls is not known (--lines tells)";

void set_peak_fraction(report::CallSite& site, const report::BlasEvidence& evidence, bool one_cpu) {
  site.peak_fraction.reset();
  site.peak_fraction_reason = why_no_peak(site, evidence);
  if (!site.peak_fraction_reason.empty()) return;
  const std::optional<int> threads = threads_of(site.library, evidence);
  const std::optional<double> cores = one_cpu || threads == 1 ? 1 : site.cores;
  site.peak_fraction = cores ? share_of_peak(site.symbol, *report::gflops_of(site),
                                             *evidence.achieved_rate.core_peak_gflops * *cores)
                             : fraction_of_all(site, evidence);
  if (site.peak_fraction) return;
  site.peak_fraction_reason =
      threads ? fmt::format(
                    "its library had {} threads, and how many worked in these calls is "
                    "not known (--lines tells)",
                    *threads)
              : std::string(kUnknownThreads);
}

void set_peak_fraction(report::PreparedCall& call, const report::BlasEvidence& evidence,
                       bool one_cpu) {
  const double peak = evidence.achieved_rate.core_peak_gflops.value_or(0);
  const auto rate = rate_of(call);
  const bool alone = one_cpu || threads_of(call.library, evidence) == 1;
  const std::optional<double> cores = alone ? 1 : call.cores;
  call.peak_fraction.reset();
  call.peak_fraction_reason = !call.time_ns ? "some of these calls did not return"
                              : !rate       ? "no FLOP are counted of this kind of work"
                              : !peak_weight_of(call.kind, call.type)
                                  ? "no peak of this precision is measured"
                              : peak <= 0 ? "no peak was measured"
                              : !cores    ? kUnknownThreads
                                          : "";
  if (call.peak_fraction_reason.empty())
    call.peak_fraction = share_of_peak(call.kind, *rate, peak * *cores, call.type);
}

}  // namespace

std::optional<double> peak_weight_of(std::string_view symbol, std::string_view type) {
  if (type == "f32") return 1;
  if (type == "f64") return 2;
  return is_narrow(symbol) || !type.empty() ? std::nullopt : std::optional(weight_of(symbol));
}

std::optional<double> share_of_peak(const std::string& symbol, double gflops, double peak_gflops,
                                    std::string_view type) {
  const auto weight = peak_weight_of(symbol, type);
  if (!weight || peak_gflops <= 0) return std::nullopt;
  return gflops * *weight / peak_gflops;
}

report::AchievedRate achieved_rate(const report::Called& called, const report::Executed& executed,
                                   const std::vector<report::LoadedLibrary>& loaded,
                                   std::optional<double> core_peak_gflops) {
  report::AchievedRate result;
  result.core_peak_gflops = core_peak_gflops;
  if (called.lost > 0) {
    result.reason = lost_text(called);
    return result;
  }
  const Total sum = total(called);
  const bool timed = sum.timed.flops >= (1 - kNegligible) * sum.all.flops;
  const CalledWork& work = timed ? sum.timed : sum.all;
  if (work.flops <= 0) {
    result.reason = why_no_work(called);
    return result;
  }
  const Span span = span_of(sum, timed, called, executed, loaded);
  if (span.seconds <= 0) {
    result.reason = "the time inside the calls is not known";
    return result;
  }
  if (!sum.untold.empty()) {
    result.reason = fmt::format("of the calls of {}, neither FLOP nor time are known", sum.untold);
    return result;
  }
  const double unknown_seconds = sum.unknown_ns * 1e-9;
  result.served_share =
      timed ? sum.timed.time_ns / (sum.timed.time_ns + sum.unknown_ns)
            : std::max(0.0, 1 - unknown_seconds / std::max(unknown_seconds, span.seconds));
  if (*result.served_share < kLeastShare) {
    result.reason = fmt::format("only {:.0f} % of the time in the BLAS is in calls of known FLOP",
                                100 * *result.served_share);
    return result;
  }
  result.gflops = work.flops / span.seconds * 1e-9;
  result.cores = span.cores;
  result.how = span.how;
  if (core_peak_gflops.value_or(0) > 0) {
    result.peak_fraction = work.f32_flops / span.seconds * 1e-9 / (*core_peak_gflops * span.cores);
    result.how += fmt::format(
        "; peak: {} of one core{}",
        work.f32_flops > work.flops ? "float32 FMA (halved for float64)" : "float32 FMA",
        span.cores > 1 ? fmt::format(" x {:.3g} that ran at once", span.cores) : "");
  }
  return result;
}

void add_call_rates(report::BlasEvidence& evidence, bool one_cpu) {
  double all_ns = 0;
  for (const report::CallSite& site : evidence.called.calls) all_ns += site.time_ns.value_or(0);
  for (report::CallSite& site : evidence.called.calls) {
    const bool timed = site.time_ns && all_ns > 0;
    site.time_share.reset();
    site.time_share_reason = evidence.called.lost > 0 ? lost_text(evidence.called)
                             : timed                  ? ""
                                                      : "these calls are not timed";
    if (site.time_share_reason.empty()) site.time_share = *site.time_ns / all_ns;
    set_peak_fraction(site, evidence, one_cpu);
  }
  for (auto* calls : {&evidence.called.primitives, &evidence.called.transforms})
    for (report::PreparedCall& call : *calls) set_peak_fraction(call, evidence, one_cpu);
}

}  // namespace hwprof::blas
