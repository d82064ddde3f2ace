// What an empty pair of edges costs, hwprof beside the libraries that people use for it, and beside
// the two clock readings that no such library can do without. A library that cannot run on this
// machine says why instead of a time.
//
// Google Benchmark measures each row; rows that need other events are in processes of their own,
// since regions choose their events once: regions_bench EVENTS.
#include <benchmark/benchmark.h>
#include <papi.h>
#include <time.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "counters/regions/region.h"

#ifdef HWPROF_HAVE_LIKWID
#define LIKWID_PERFMON
#include <likwid-marker.h>
#include <likwid.h>
#endif

namespace {

void clock_pair(benchmark::State& state) {
  timespec now{};
  for (auto _ : state) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    benchmark::DoNotOptimize(now);
    clock_gettime(CLOCK_MONOTONIC, &now);
    benchmark::DoNotOptimize(now);
  }
}

void hwprof_pair(benchmark::State& state) {
  for (auto _ : state) hwprof::Region region("region");
}

// Deep in the tree, names of 24 letters, siblings by turns.
void hwprof_nested_pair(benchmark::State& state) {
  const hwprof::Region a("the whole forward pass"), b("layer"), c("convolution over words");
  bool odd = false;
  for (auto _ : state) {
    hwprof::Region region(odd ? "a product of two arrays." : "a copy of one array......");
    odd = !odd;
  }
}

// PAPI's own way: regions around a set of events that the caller keeps.
void papi_pair(benchmark::State& state, const char* event) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
    return state.SkipWithError("PAPI_library_init failed");
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  if (const int code = PAPI_add_named_event(set, event); code != PAPI_OK)
    return state.SkipWithError(PAPI_strerror(code));
  if (const int code = PAPI_start(set); code != PAPI_OK)
    return state.SkipWithError(PAPI_strerror(code));
  long long values[2];
  for (auto _ : state) {
    PAPI_read(set, values);
    benchmark::DoNotOptimize(PAPI_get_real_nsec());
    benchmark::DoNotOptimize(PAPI_get_real_nsec());
    PAPI_read(set, values);
  }
  PAPI_stop(set, values);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
}

// Times only, as PAPI's high-level interface without events.
void papi_clock_pair(benchmark::State& state) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
    return state.SkipWithError("PAPI_library_init failed");
  for (auto _ : state) {
    benchmark::DoNotOptimize(PAPI_get_real_nsec());
    benchmark::DoNotOptimize(PAPI_get_real_nsec());
  }
}

#ifdef HWPROF_HAVE_LIKWID
// The marker interface outside likwid-perfctr does nothing; its timer is what is left to compare.
void likwid_timer_pair(benchmark::State& state) {
  timer_init();
  TimerData timer{};
  for (auto _ : state) {
    timer_start(&timer);
    timer_stop(&timer);
    benchmark::DoNotOptimize(timer);
  }
}

void likwid_marker_pair(benchmark::State& state) {
  if (std::getenv("LIKWID_MODE") == nullptr)
    return state.SkipWithError("needs likwid-perfctr -m, which needs a PMU");
  likwid_markerInit();
  likwid_markerThreadInit();
  likwid_markerRegisterRegion("region");
  for (auto _ : state) {
    likwid_markerStartRegion("region");
    likwid_markerStopRegion("region");
  }
  likwid_markerClose();
}
#endif

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string events = argc > 1 ? argv[1] : "";
  if (const std::string problem = hwprof::start_regions(events.c_str()); !problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return 2;
  }
  const std::string name = events.empty() ? "hwprof, times only" : "hwprof, " + events;
  benchmark::RegisterBenchmark((name + ", nested").c_str(), hwprof_nested_pair);
  benchmark::RegisterBenchmark(name.c_str(), hwprof_pair);
  benchmark::RegisterBenchmark("clock_gettime", clock_pair);
  if (events.empty()) {
    benchmark::RegisterBenchmark("PAPI, times only", papi_clock_pair);
    benchmark::RegisterBenchmark("PAPI, page faults", papi_pair, "perf::PAGE-FAULTS");
    benchmark::RegisterBenchmark("PAPI, instructions", papi_pair, "PAPI_TOT_INS");
#ifdef HWPROF_HAVE_LIKWID
    benchmark::RegisterBenchmark("LIKWID, timer", likwid_timer_pair);
    benchmark::RegisterBenchmark("LIKWID, marker", likwid_marker_pair);
#endif
  }
  benchmark::RunSpecifiedBenchmarks();
  // How the counters were read, and why not better: a cost without that says little.
  std::fputs(hwprof::regions_text().c_str(), stderr);
  return 0;
}
