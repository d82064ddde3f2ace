#include "src/blas/ladder/rung.h"

#include <fmt/format.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "src/base/clock.h"
#include "src/base/spawn.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/ladder/replayed_call.h"
#include "src/blas/ladder/results.h"
#include "src/blas/providers/providers.h"
#include "src/measure/peak.h"
#include "src/measure/statistics.h"
#include "src/model/from_json.h"

namespace hwprof::blas {
namespace {

using Clock = std::chrono::steady_clock;
using Int = BlasLibrary::Int;

// CPU time of a slice: neighbours on the same CPU take turns of some milliseconds, which this clock
// does not see; those behind the hypervisor slow the peak beside a product as they slow the
// product.
constexpr double kSliceSeconds = 0.001;
constexpr int kRounds = 15;
// A slow library stops here with the rounds that it has.
constexpr double kEnoughSeconds = 0.045;
constexpr int kFewestRounds = 5;
constexpr Int kSmallSize = 256;
constexpr double kTooLongSeconds = 0.015;

constexpr const char* kWithDgemm = "dgemm";
constexpr const char* kWithResults = "results";

// The calling thread's, or where a library cannot be told to use one thread that of the process.
class CpuClock {
 public:
  explicit CpuClock(bool one_thread)
      : id_(one_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID) {}
  [[nodiscard]] double seconds() const { return 1e-9 * ns_of(id_); }
  [[nodiscard]] clockid_t id() const { return id_; }

 private:
  clockid_t id_;
};

template <class Real>
class SquareProduct {
 public:
  SquareProduct(const BlasLibrary& library, Int n)
      : library_(library),
        n_(n),
        a_(static_cast<std::size_t>(n * n), Real{0.5}),
        b_(a_.size(), Real{0.25}),
        c_(a_.size()) {}
  void run() {
    if constexpr (std::is_same_v<Real, float>) {
      library_.sgemm(false, false, n_, n_, n_, 1, a_.data(), n_, b_.data(), n_, 0, c_.data(), n_);
    } else {
      library_.dgemm(false, false, n_, n_, n_, 1, a_.data(), n_, b_.data(), n_, 0, c_.data(), n_);
    }
  }
  double seconds(const CpuClock& clock) {
    const double begin = clock.seconds();
    run();
    return clock.seconds() - begin;
  }
  // Over calls that last a slice together.
  double gflops(const CpuClock& clock) {
    const double begin = clock.seconds();
    double elapsed = 0, calls = 0;
    do {
      run();
      ++calls;
      elapsed = clock.seconds() - begin;
    } while (elapsed < kSliceSeconds);
    return calls * 2e-9 * static_cast<double>(n_ * n_ * n_) / elapsed;
  }

 private:
  const BlasLibrary& library_;
  Int n_;
  std::vector<Real> a_, b_, c_;
};

Int fitting_size(const BlasLibrary& library, const CpuClock& clock) {
  SquareProduct<float> probe(library, kSmallSize);
  probe.run();  // starts threads, allocates buffers
  const double seconds = std::min(probe.seconds(clock), probe.seconds(clock));
  constexpr double kGrowth = static_cast<double>(kRungSize * kRungSize * kRungSize) /
                             static_cast<double>(kSmallSize * kSmallSize * kSmallSize);
  return seconds * kGrowth <= kTooLongSeconds ? kRungSize : kSmallSize;
}

const FmaKernel& peak_kernel(const std::string& isa) {
  for (const FmaKernel& kernel : fma_kernels()) {
    if (kernel.isa == isa) return kernel;
  }
  return fastest_fma_kernel();
}

// One piece as long as a product, by the same clock.
class PeakSlice {
 public:
  PeakSlice(const FmaKernel& kernel, const CpuClock& clock) : kernel_(kernel), clock_(clock) {
    constexpr std::uint64_t kTrial = 20'000;
    steps_ = kTrial;
    const double seconds = std::max(timed(), 1e-6);
    steps_ = std::max<std::uint64_t>(
        kTrial, static_cast<std::uint64_t>(kSliceSeconds / seconds * static_cast<double>(kTrial)));
  }
  double gflops() {
    seen_.push_back(1e-9 * kernel_.flops_per_step * static_cast<double>(steps_) /
                    std::max(timed(), 1e-9));
    return seen_.back();
  }
  [[nodiscard]] double typical() const { return median(seen_); }

 private:
  double timed() {
    const double begin = clock_.seconds();
    kernel_.run(steps_);
    return clock_.seconds() - begin;
  }
  const FmaKernel& kernel_;
  const CpuClock& clock_;
  std::uint64_t steps_ = 0;
  std::vector<double> seen_;
};

// Products and slices of the peak take turns, and each product is compared with its neighbours:
// what slows the core down for longer than a slice slows both.
struct Rates {
  double gflops = 0, fraction = 0;
};
template <class Real>
Rates measure(const BlasLibrary& library, const FmaKernel& kernel, const CpuClock& clock,
              Int size) {
  SquareProduct<Real> product(library, size);
  product.run();
  PeakSlice peak(kernel, clock);
  std::vector<double> products, ratios;
  const double begin = clock.seconds();
  double before = peak.gflops();
  for (int round = 0; round < kRounds; ++round) {
    if (round >= kFewestRounds && clock.seconds() - begin >= kEnoughSeconds) break;
    products.push_back(product.gflops(clock));
    const double after = peak.gflops();
    ratios.push_back(2 * products.back() / (before + after));
    before = after;
  }
  return {median(std::move(products)), median(std::move(ratios))};
}

// Of one call, in FLOP of the peak beside it: the median of few, since a large one takes long.
double peak_flops_of(const ReplayedCall& call, PeakSlice& peak, const CpuClock& clock) {
  call.run();  // page faults, buffers
  // The clock is asked once a slice: it takes as long as a tiny call.
  const auto seconds_of = [&](std::uint64_t calls) {
    const double begin = clock.seconds();
    for (std::uint64_t i = 0; i < calls; ++i) call.run();
    return clock.seconds() - begin;
  };
  std::uint64_t calls = 1;
  for (double seconds = seconds_of(1); seconds < kSliceSeconds; seconds = seconds_of(calls)) {
    const double more = seconds > 0 ? kSliceSeconds / seconds : 10;
    calls =
        static_cast<std::uint64_t>(static_cast<double>(calls) * std::clamp(more, 1.2, 10.0)) + 1;
  }
  std::vector<double> costs;
  const double begin = clock.seconds();
  double before = peak.gflops();
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0 && clock.seconds() - begin >= kEnoughSeconds) break;
    const double elapsed = seconds_of(calls);
    const double after = peak.gflops();
    costs.push_back(elapsed / static_cast<double>(calls) * 1e9 * (before + after) / 2);
    before = after;
  }
  return median(std::move(costs));
}

Result<double> replay(const BlasLibrary& library, const std::string& text, PeakSlice& peak,
                      const CpuClock& clock) {
  const auto calls = parse_replay(text);
  if (!calls) return environment_error(0, "the list of calls cannot be read");
  double flops = 0, peak_flops = 0;
  for (const ReplayCall& call : *calls) {
    TRY(const ReplayedCall made, ReplayedCall::prepare(library, call));
    flops += made.weight() * made.flops();
    peak_flops += made.weight() * peak_flops_of(made, peak, clock);
  }
  return flops / peak_flops;
}

RungResult measure_all(const BlasLibrary& library, const FmaKernel& peak, const CpuClock& clock,
                       bool with_dgemm) {
  const Int size = fitting_size(library, clock);
  RungResult result;
  result.size = static_cast<int>(size);
  const Rates single = measure<float>(library, peak, clock, size);
  result.gflops = single.gflops;
  result.peak_fraction = single.fraction;
  if (with_dgemm) {
    // The peak is measured in float32. Where a vector is full, float64 has half of it.
    const Rates twice = measure<double>(library, peak, clock, size);
    result.dgemm_gflops = twice.gflops;
    result.dgemm_peak_fraction = 2 * twice.fraction;
  }
  return result;
}

Result<RungResult> work(const RungTask& task) {
  if (!task.cpus.empty()) {
    if (auto pinned = pin_to(task.cpus); !pinned) return error_of(pinned);
  }
  const auto library = task.replay.empty() ? BlasLibrary::load(task.library)
                                           : BlasLibrary::load_what_served(task.library);
  if (!library) return error_of(library);
  const Identity identity = identify(*library);  // before its threads are changed
  const bool one_thread = library->set_threads(1) || identity.threads == 1;
  // OpenBLAS ignores the name of a core type that it does not know, and some builds replace one.
  if (!task.expected_core.empty() && !identity.core.empty() &&
      ::strcasecmp(task.expected_core.c_str(), identity.core.c_str()) != 0) {
    return environment_error(
        0, fmt::format("asked for {}, the library ran {}", task.expected_core, identity.core));
  }
  const FmaKernel& kernel = peak_kernel(task.peak_isa);
  const CpuClock clock(one_thread);
  RungResult result;
  if (library->has_products()) result = measure_all(*library, kernel, clock, task.with_dgemm);
  if (!task.replay.empty()) {
    PeakSlice peak(kernel, clock);
    const auto fraction = replay(*library, task.replay, peak, clock);
    if (!fraction && !library->has_products()) return error_of(fraction);
    if (fraction) {
      result.calls_fraction = *fraction;
      if (!library->has_products()) {
        result.peak_gflops = peak.typical();
        result.calls_reason = "it has no sgemm_: only the program's own calls were made again";
      }
    } else {
      result.calls_reason = fraction.error().what;
    }
  }
  if (task.with_results && library->has_products()) result.results = check_results(*library);
  result.identity = identity;
  // A wrapper loads its backend when it is first called.
  result.identity.behind = backend_of(*library, identity.provider);
  return result;
}

Result<DenormalCost> denormal_work(const RungTask& task) {
  if (!task.cpus.empty()) {
    if (auto pinned = pin_to(task.cpus); !pinned) return error_of(pinned);
  }
  TRY(const BlasLibrary library, BlasLibrary::load_what_served(task.library));
  const auto calls = parse_replay(task.denormals);
  if (!calls || calls->size() != 1) return environment_error(0, "the call cannot be read");
  const bool one_thread = library.set_threads(1) || identify(library).threads == 1;
  return measure_denormal_cost(library, calls->front(), CpuClock(one_thread).id());
}

nlohmann::json to_json(const DenormalCost& cost) {
  const auto of = [](double ratio, const Interval& interval) {
    return nlohmann::json::array({interval.low, ratio, interval.high});
  };
  return {{"denormal_operands", of(cost.operands, cost.operands_interval)},
          {"denormal_results", of(cost.results, cost.results_interval)},
          {"rounds", cost.rounds}};
}

nlohmann::json to_json(const RungResult& result) {
  const Identity& identity = result.identity;
  nlohmann::json json = {{"provider", to_text(identity.provider)},
                         {"version", identity.version},
                         {"core", identity.core},
                         {"threading", identity.threading},
                         {"kernels", identity.kernels},
                         {"behind", identity.behind},
                         {"size", result.size}};
  if (result.gflops && result.peak_fraction) {
    json["gflops"] = *result.gflops;
    json["peak_fraction"] = *result.peak_fraction;
  } else {
    json["peak_gflops"] = result.peak_gflops;
  }
  if (result.calls_fraction) json["calls_fraction"] = *result.calls_fraction;
  if (!result.calls_reason.empty()) json["calls_reason"] = result.calls_reason;
  if (identity.threads) json["threads"] = *identity.threads;
  if (result.results.right) {
    json["right"] = *result.results.right;
    json["wrong"] = result.results.wrong;
    json["bits"] = result.results.bits;
  }
  if (result.dgemm_gflops) {
    json["dgemm_gflops"] = *result.dgemm_gflops;
    json["dgemm_peak_fraction"] = *result.dgemm_peak_fraction;
  }
  return json;
}

// A library may print to standard output (MKL_VERBOSE does): it gets standard error instead.
int take_standard_output() {
  const int out = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return out;
}

}  // namespace

std::vector<std::string> rung_arguments(const RungTask& task) {
  return {kRungCommand,
          task.library,
          format_cpu_list(task.cpus),
          task.expected_core,
          task.peak_isa,
          task.with_dgemm ? kWithDgemm : "",
          task.with_results ? kWithResults : "",
          task.replay,
          task.denormals};
}

Result<RungResult> parse_rung_output(const std::string& out) {
  if (!model::check_json(out)) return environment_error(0, "it printed no result");
  const auto json = nlohmann::json::parse(out, nullptr, false);
  if (!json.is_object()) return environment_error(0, "it printed no result");
  const auto text = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  if (json.contains("error")) return environment_error(0, text("error"));
  const auto number = [&](const char* key) -> std::optional<double> {
    if (!json.contains(key) || !json[key].is_number()) return std::nullopt;
    return json[key].get<double>();
  };
  RungResult result;
  result.gflops = number("gflops");
  result.peak_fraction = number("peak_fraction");
  result.calls_fraction = number("calls_fraction");
  const auto peak = number("peak_gflops");
  if (result.gflops && result.peak_fraction) {
    result.peak_gflops = *result.gflops / *result.peak_fraction;
  } else if (result.calls_fraction && peak) {
    result.peak_gflops = *peak;
  } else {
    return environment_error(0, "it printed no result");
  }
  result.identity.provider = report::provider_named(text("provider"));
  result.identity.core = text("core");
  result.identity.vector_class = vector_class_of(result.identity.provider, result.identity.core);
  result.identity.kernels = text("kernels");
  result.identity.version = text("version");
  result.identity.threading = text("threading");
  result.identity.behind = text("behind");
  if (json.contains("right") && json["right"].is_boolean()) {
    result.results = {json["right"].get<bool>(), text("wrong"), text("bits")};
  }
  if (const auto threads = number("threads")) result.identity.threads = static_cast<int>(*threads);
  result.calls_reason = text("calls_reason");
  result.dgemm_gflops = number("dgemm_gflops");
  result.dgemm_peak_fraction = number("dgemm_peak_fraction");
  result.size = json.value("size", 0);
  return result;
}

Result<RungResult> measure_in_child(const std::string& program, const RungTask& task,
                                    const std::vector<std::string>& environment,
                                    std::chrono::milliseconds allowed) {
  const auto output =
      child_output(program, rung_arguments(task), environment, Clock::now() + allowed);
  if (!output) return error_of(output);
  auto result = parse_rung_output(output->out);
  if (!result && output->out.empty()) {
    return environment_error(0, why_it_ended(*output, allowed));
  }
  return result;
}

Result<DenormalCost> parse_denormal_output(const std::string& out) {
  const auto json =
      model::check_json(out) ? nlohmann::json::parse(out, nullptr, false) : nlohmann::json();
  const auto read = [&](const char* key, double& ratio, Interval& interval) {
    if (!json.contains(key) || !json[key].is_array() || json[key].size() != 3) return false;
    for (const auto& number : json[key]) {
      if (!number.is_number() || !(number.template get<double>() > 0)) return false;
    }
    interval = {json[key][0].template get<double>(), json[key][2].template get<double>()};
    ratio = json[key][1].template get<double>();
    return true;
  };
  if (json.is_object() && json.contains("error") && json["error"].is_string())
    return environment_error(0, json["error"].get<std::string>());
  DenormalCost cost;
  if (!json.is_object() || !read("denormal_operands", cost.operands, cost.operands_interval) ||
      !read("denormal_results", cost.results, cost.results_interval) || !json.contains("rounds") ||
      !json["rounds"].is_number_unsigned()) {
    return environment_error(0, "it printed no result");
  }
  cost.rounds = json["rounds"].get<std::uint64_t>();
  return cost;
}

Result<DenormalCost> denormal_cost_in_child(const std::string& program, const RungTask& task,
                                            const std::vector<std::string>& environment,
                                            std::chrono::milliseconds allowed) {
  const auto output =
      child_output(program, rung_arguments(task), environment, Clock::now() + allowed);
  if (!output) return error_of(output);
  if (output->out.empty()) return environment_error(0, why_it_ended(*output, allowed));
  return parse_denormal_output(output->out);
}

int run_rung(const std::vector<std::string>& arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphan when the parent is killed
  // A core type that crashes must leave no core dump; 1 forbids piped ones too (core(5)).
  constexpr rlimit kNoCoreDump{1, 1};
  ::setrlimit(RLIMIT_CORE, &kNoCoreDump);
  if (arguments.size() != 8) return 2;
  const int out = take_standard_output();
  RungTask task{arguments[0],
                {},
                arguments[2],
                arguments[3],
                arguments[4] == kWithDgemm,
                arguments[5] == kWithResults,
                arguments[6],
                arguments[7]};
  if (!arguments[1].empty()) {
    auto cpus = parse_cpu_list(arguments[1]);
    if (!cpus) return 2;
    task.cpus = *std::move(cpus);
  }
  const auto done = [](const auto& result) {
    return result ? to_json(*result) : nlohmann::json{{"error", result.error().what}};
  };
  const nlohmann::json json = task.denormals.empty() ? done(work(task)) : done(denormal_work(task));
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const bool written = ::write(out, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  // Not through the destructors of a library that may have been made to do what it cannot.
  ::_exit(written && !json.contains("error") ? 0 : 3);
}

}  // namespace hwprof::blas
