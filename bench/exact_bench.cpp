// What counting exactly costs (src/exact): how much longer code takes in its translation than as it
// is, what translating it takes, and the memory of one counted thread; beside the bars that it is
// held to.
//
// A benchmark is a piece of code, its one iteration a measurement: rounds of calls as they are and
// calls in one counted region, interleaved. The clock is read between the calls, within the region
// too. Of a region's calls the first is translated: what it takes beyond the others is the
// translation. The ratio is of medians of the rest, and of each round its own: neighbours in time.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/blas_library.h"
#include "src/exact/exact.h"

namespace {

using namespace hwprof;

constexpr int kRounds = 15;
constexpr int kCalls = 21;  // of a round, of each kind
constexpr double kMostTranslationMs = 5, kMostMemoryMiB = 64;

volatile double sink = 0;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double now_us() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(time).count();
}

// Pages of this process that are resident: /proc/self/statm, read without memory of the heap.
double resident_mib() {
  std::array<char, 128> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  const char* second = got > 0 ? std::strchr(text.data(), ' ') : nullptr;
  if (second == nullptr) return 0;
  return std::strtod(second, nullptr) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct Calls {
  std::array<double, kCalls> us{};
  double memory_mib = 0;

  [[nodiscard]] double typical_us() const { return median({us.begin() + 1, us.end()}); }
};

Calls run_calls(const std::function<void()>& call) {
  Calls calls;
  for (double& us : calls.us) {
    const double before = now_us();
    call();
    us = now_us() - before;
  }
  calls.memory_mib = resident_mib();
  return calls;
}

// `bar`: most times native; 0: none.
void measure(benchmark::State& state, const std::function<void()>& call, double bar) {
  if (const Result<void> there = exact::check_available(); !there)
    return state.SkipWithError(there.error().what.c_str());
  (void)run_calls(call);  // symbols bound at their first call, caches
  for (auto _ : state) {
    std::vector<double> ratios, translations_ms, native_us, memory_mib;
    for (int round = 0; round < kRounds; ++round) {
      const Calls native = run_calls(call);
      Calls counted;
      const Result<exact::Counted> done = exact::count([&] { counted = run_calls(call); });
      if (!done) return state.SkipWithError(done.error().what.c_str());
      ratios.push_back(counted.typical_us() / native.typical_us());
      translations_ms.push_back((counted.us[0] - counted.typical_us()) * 1e-3);
      native_us.push_back(native.typical_us());
      memory_mib.push_back(counted.memory_mib - native.memory_mib);
    }
    const double ratio = median(ratios), translation_ms = median(translations_ms);
    const double mib = *std::max_element(memory_mib.begin(), memory_mib.end());
    state.SetIterationTime(median(native_us) * 1e-6);
    state.counters["ratio"] = ratio;
    state.counters["ratio_low"] = *std::min_element(ratios.begin(), ratios.end());
    state.counters["ratio_high"] = *std::max_element(ratios.begin(), ratios.end());
    state.counters["translation_ms"] = translation_ms;
    state.counters["memory_mib"] = mib;
    std::string missed;
    if (bar > 0 && ratio > bar) missed += fmt::format(" ratio above {}", bar);
    if (translation_ms > kMostTranslationMs)
      missed += fmt::format(" translation above {} ms", kMostTranslationMs);
    if (mib > kMostMemoryMiB) missed += fmt::format(" memory above {} MiB", kMostMemoryMiB);
    state.SetLabel(missed.empty() ? "within its bars" : "NOT within:" + missed);
  }
}

__attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

struct Shape {
  virtual ~Shape() = default;
  virtual double area(double x) = 0;
};
struct Square : Shape {
  double area(double x) override { return x * x; }
};
struct Circle : Shape {
  double area(double x) override { return x * 3.14; }
};

void call_virtual() {
  static const std::array<std::unique_ptr<Shape>, 2> shapes = {std::make_unique<Square>(),
                                                               std::make_unique<Circle>()};
  double sum = 0;
  for (unsigned i = 0; i < 20000; ++i) sum += shapes[i % 2]->area(i);
  sink = sum;
}

void fill_map() {
  std::map<std::string, int> words;
  for (int i = 0; i < 500; ++i) words["word number " + std::to_string(i * 7919 % 503)] += i;
  sink = static_cast<double>(words.size());
}

void call_libm() {
  double sum = 0;
  for (int i = 1; i < 2000; ++i) sum += std::exp(i * 0.001) + std::sin(i) + std::pow(i, 1.3);
  sink = sum;
}

// Several calls of a small one, so that the clock does not matter.
void register_product(const BlasLibrary& blas, std::size_t n, double bar) {
  benchmark::RegisterBenchmark(fmt::format("sgemm/{}", n).c_str(),
                               [&blas, n, bar](benchmark::State& state) {
                                 const std::vector<float> a(n * n, 1.5F), b(n * n, 0.5F);
                                 std::vector<float> c(n * n);
                                 const auto size = static_cast<BlasLibrary::Int>(n);
                                 const int times = n < 100 ? 20 : 1;
                                 measure(
                                     state,
                                     [&] {
                                       for (int i = 0; i < times; ++i)
                                         blas.sgemm(false, false, size, size, size, 1, a.data(),
                                                    size, b.data(), size, 0, c.data(), size);
                                     },
                                     bar);
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMicrosecond);
}

void register_calls(const char* name, void (*run)()) {
  constexpr double kCallHeavy = 6;
  benchmark::RegisterBenchmark(name,
                               [run](benchmark::State& state) { measure(state, run, kCallHeavy); })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  // Only one thread can be counted; a BLAS reads these when it is loaded.
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
    ::setenv(name, "1", 1);
  benchmark::Initialize(&argc, argv);
  std::string library;
  CLI::App app("What exact counting costs.");
  app.add_option("--blas", library, "Of this BLAS (default: what programs get)");
  CLI11_PARSE(app, argc, argv);
  const Result<BlasLibrary> blas = BlasLibrary::load(library);
  benchmark::AddCustomContext("blas", blas ? blas->path() : "absent: " + blas.error().what);
  if (blas) {
    constexpr double kSmall = 2, kLarge = 1.1;  // of an optimized BLAS
    register_product(*blas, 33, kSmall);
    for (const std::size_t n : {64, 100}) register_product(*blas, n, 0);
    for (const std::size_t n : {128, 256, 512}) register_product(*blas, n, kLarge);
  }
  register_calls("calls/recursion", [] { sink = fibonacci(18); });
  register_calls("calls/virtual", call_virtual);
  register_calls("calls/map_of_strings", fill_map);
  register_calls("calls/libm", call_libm);
  benchmark::RunSpecifiedBenchmarks();
}
