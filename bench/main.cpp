// kernels_bench: our kernels and their peers side by side, one thread, one CPU.
//
// Google Benchmark registers, filters, repeats and writes; it runs one benchmark to its end before
// the next, so it cannot interleave contestants. Hence a benchmark here is a shape, its one
// iteration is a measurement of all contestants (src/measure/schedule.h), and their rates and
// ratios are its counters: every ratio is from neighbouring slices of one process. The time column
// is that of our kernel.
//
// A BLAS reads its environment at load, and OpenBLAS sometimes chooses a slow core type. So the
// program starts itself anew with a clean environment, climbs the ladder of core types, and once
// more with the best one set, if it is not what the library chooses.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "bench/case.h"
#include "bench/onednn.h"
#include "counters/machine.h"
#include "counters/machine/affinity.h"
#include "kernels/simd/simd.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/ladder/ladder.h"
#include "src/blas/ladder/rung.h"
#include "src/measure/schedule.h"
#include "src/measure/statistics.h"

namespace {

using namespace hwprof;
using namespace hwprof::bench;

constexpr const char* kStage = "HWPROF_BENCH_STAGE";  // unset, "clean", "chosen"
constexpr double kSliceSeconds = 0.012;               // of work; as long a peak is beside it
// As long as a call: both then lose what a hypervisor takes.
constexpr double kLongestPeakSeconds = 0.020;

struct Options {
  unsigned cpu = 0;
  std::size_t rounds = 15;
  std::string blis, torch, python = "python3";
};

Result<void> start_anew(char** argv) {
  ::execv("/proc/self/exe", argv);
  return environment_error(errno, "cannot start /proc/self/exe anew");
}

void clean_environment() {
  for (const auto& [name, value] : blas::blas_environment()) ::unsetenv(name.c_str());
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"}) {
    ::setenv(name, "1", 1);
  }
}

// Sets OPENBLAS_CORETYPE when another core type is at least 2 % faster than the library's own
// choice (what the ladder repeats within).
void choose_core_type(unsigned cpu) {
  constexpr double kWorthIt = 1.02;
  const Result<BlasLibrary> library = BlasLibrary::load("");
  if (!library) return;
  const blas::Identity identity = blas::identify(*library);
  const blas::Ladder ladder =
      blas::climb(*library, identity, {}, probe_machine(cpu), {.cpus = {cpu}});
  const report::LadderRung* own = nullptr;
  for (const report::LadderRung& rung : ladder.rungs) {
    if (rung.as_found) own = &rung;
  }
  if (own == nullptr || !own->peak_fraction) return;
  const std::string wanted = "OPENBLAS_CORETYPE=";
  const report::LadderRung& best = ladder.rungs.front();
  if (best.peak_fraction.value_or(0) > kWorthIt * *own->peak_fraction &&
      best.setting.rfind(wanted, 0) == 0) {
    ::setenv("OPENBLAS_CORETYPE", best.setting.c_str() + wanted.size(), 1);
  }
}

void load_blas(Peers& peers, const std::string& name, const std::string& path) {
  Result<BlasLibrary> library = BlasLibrary::load(path);
  if (!library) {
    benchmark::AddCustomContext(name, "absent: " + library.error().what);
    return;
  }
  library->set_threads(1);
  const blas::Identity identity = blas::identify(*library);
  benchmark::AddCustomContext(
      name, fmt::format("{} {}, core type {}", to_text(identity.provider),
                        identity.version.empty() ? "of unknown version" : identity.version,
                        identity.core.empty() ? "unknown" : identity.core));
  peers.blas.push_back({std::string(to_text(identity.provider)), std::move(*library)});
}

void describe(const Machine& machine, Peers& peers) {
  std::string caches;
  for (const CacheLevel& cache : machine.caches) {
    caches +=
        fmt::format("{}L{} {} KiB", caches.empty() ? "" : ", ", cache.level, cache.bytes / 1024);
  }
  const Result<std::string> onednn = onednn_version();
  const Result<std::string> torch = peers.torch.version();
  benchmark::AddCustomContext("hwprof_bench", "1");  // of the keys that `hwprof report` reads
  benchmark::AddCustomContext("cpu", machine.cpu_name);
  benchmark::AddCustomContext("cache_sizes", caches);
  benchmark::AddCustomContext("kernel", machine.kernel);
  benchmark::AddCustomContext("virtualized", machine.virtualized ? "yes" : "no");
  benchmark::AddCustomContext("simd", simd_target());
  benchmark::AddCustomContext("fma_peak", fastest_fma_kernel().isa);
  benchmark::AddCustomContext("onednn", onednn ? *onednn : "absent: " + onednn.error().what);
  benchmark::AddCustomContext("pytorch", torch ? *torch : "absent: " + torch.error().what);
}

// "" lifts the cap.
Result<const FmaKernel*> use_isa(const std::string& isa) {
  if (isa.empty()) {
    for (const char* widest : {"avx512", "avx2", "sse", "neon"}) {
      if (cap_simd(widest)) break;
    }
    return &fastest_fma_kernel();
  }
  if (const Result<void> capped = cap_simd(isa); !capped) return error_of(capped);
  for (const FmaKernel& kernel : fma_kernels()) {
    if (kernel.isa == isa) return &kernel;
  }
  return environment_error(0, "no FMA kernel for " + isa);
}

// Of a call, with the interval that a profile's row has.
void report_time(benchmark::State& state, const std::string& name, const Measurement& measured) {
  const std::vector<double> ns = measured.values(&report::Slice::work_ns);
  state.counters[name + ":ns"] = median(ns);
  if (ns.size() < kMinSamplesForInterval) return;
  const Interval interval = runs_interval(ns, kBetweenRuns);
  state.counters[name + ":ns_low"] = interval.low;
  state.counters[name + ":ns_high"] = interval.high;
}

void report(benchmark::State& state, const ScheduleResult& result, const Prepared& prepared) {
  state.counters["fma_peak_gflops"] = median(result.peak_gflops);
  state.counters["flops"] = prepared.row.cost.flops;
  state.counters["bytes"] = prepared.row.cost.bytes;
  for (const auto& [name, size] : prepared.row.sizes)
    state.counters["size:" + name] = static_cast<double>(size);
  if (prepared.extra_kib) state.counters["extra_kib"] = *prepared.extra_kib;
  for (std::size_t i = 0; i < result.work.size(); ++i) {
    const std::string& name = prepared.contestants[i].name;
    const Measurement& measured = result.work[i].whole;
    state.counters[name + ":gflops"] =
        prepared.flops / median(measured.values(&report::Slice::work_ns));
    state.counters[name + ":peak"] = median(measured.peak_ratios());
    report_time(state, name, measured);
    if (measured.baseline_ratios.empty()) continue;
    const Interval interval = bootstrap_median(measured.baseline_ratios);
    state.counters[name + ":ours"] = median(measured.baseline_ratios);
    state.counters[name + ":ours_low"] = interval.low;
    state.counters[name + ":ours_high"] = interval.high;
  }
  std::string absent;
  for (const std::string& reason : prepared.absent) {
    absent += (absent.empty() ? "absent: " : "; ") + reason;
  }
  state.SetLabel(absent);
}

void run_case(benchmark::State& state, const Case& a_case, Peers& peers, const Options& options) {
  const Result<const FmaKernel*> peak = use_isa(a_case.isa);
  if (!peak) return state.SkipWithError(peak.error().what.c_str());
  const Result<Prepared> prepared = a_case.prepare(peers);
  if (!prepared) return state.SkipWithError(prepared.error().what.c_str());
  std::vector<Work> work;
  for (const Contestant& contestant : prepared->contestants) {
    work.push_back({.parts = {contestant.part}});
    work.back().parts.front().flops = prepared->flops;
  }
  const std::atomic<bool> stop{false};
  while (state.KeepRunning()) {
    const ScheduleResult result = run_interleaved(work, one_thread(), nullptr,
                                                  {.slice_s = kSliceSeconds,
                                                   .longest_peak_s = kLongestPeakSeconds,
                                                   .cpus = {options.cpu},
                                                   .repeat = options.rounds,
                                                   .baseline = 0,
                                                   .peak = *peak},
                                                  stop, [](double) {});
    if (result.interrupted) return state.SkipWithError(peers.torch_gone.c_str());
    const Measurement& ours = result.work.front().whole;
    state.SetIterationTime(median(ours.values(&report::Slice::work_ns)) * 1e-9);
    report(state, result, *prepared);
  }
}

Result<int> run(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc + 1);  // Initialize() takes its own out of argv
  benchmark::Initialize(&argc, argv);
  Options options;
  options.cpu = current_cpu();
  CLI::App app("Our kernels and their peers, in interleaved slices.");
  app.add_option("--cpu", options.cpu, "Run on this CPU (default: the one it starts on)");
  app.add_option("--rounds", options.rounds, "Rounds a shape (default 15)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--blis", options.blis, "Measure this BLIS too (path of its libblas.so.3)");
  app.add_option("--torch", options.torch, "Measure PyTorch too, through this script");
  app.add_option("--python", options.python, "Run the script with it (default python3)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  if (const Result<void> pinned = pin_to({options.cpu}); !pinned) return error_of(pinned);
  const char* stage = std::getenv(kStage);
  if (stage == nullptr) {
    clean_environment();
    ::setenv(kStage, "clean", 1);
    return start_anew(arguments.data()).map([] { return 0; });
  }
  if (std::string(stage) == "clean") {
    choose_core_type(options.cpu);
    ::setenv(kStage, "chosen", 1);
    return start_anew(arguments.data()).map([] { return 0; });
  }
  ::unsetenv(kStage);

  Peers peers;
  if (!options.torch.empty()) peers.torch.start(options.python, options.torch);
  load_blas(peers, "blas", "");
  if (!options.blis.empty()) load_blas(peers, "blis", options.blis);
  describe(probe_machine(options.cpu), peers);
  const std::vector<Case> cases = all_cases();
  for (const Case& a_case : cases) {
    benchmark::RegisterBenchmark(
        a_case.name.c_str(),
        [&](benchmark::State& state) { run_case(state, a_case, peers, options); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (!args.empty() && args.front() == blas::kRungCommand) {
      return blas::run_rung({args.begin() + 1, args.end()});
    }
    const Result<int> code = run(argc, argv);
    if (code) return *code;
    fmt::print(stderr, "kernels_bench: error: {}\n", code.error().what);
    return code.error().fault == Fault::kUsage ? 2 : 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernels_bench: error: {}\n", error.what());
    return 3;
  }
}
