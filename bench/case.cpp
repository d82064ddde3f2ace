#include "bench/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

namespace hwprof::bench {
namespace {

// Sums of up to 6144 products in another order: far below this, and far above it when wrong.
constexpr double kTolerance = 1e-4;

double largest_difference(std::span<const float> expected, std::span<const float> actual) {
  double difference = 0, magnitude = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double here = std::abs(double{expected[i]} - double{actual[i]});
    if (!(here <= difference)) difference = here;  // a NaN stays
    magnitude = std::max(magnitude, std::abs(double{expected[i]}));
  }
  return difference / magnitude;
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_text_cnn_cases(cases);
  add_resnet20_cases(cases);
  return cases;
}

ThreadTeam& one_thread() {
  static ThreadTeam team(1, {});
  return team;
}

std::optional<double> take_peak_resident_kib() {
  std::optional<double> kib;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) kib = std::stod(line.substr(6));
  }
  // "5" sets the high-water mark back to what is resident now (proc(5)).
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  return reset ? kib : std::nullopt;
}

void add_ours(Prepared& prepared, std::string name, std::function<void()> call) {
  (void)take_peak_resident_kib();
  const std::optional<double> before = take_peak_resident_kib();
  call();
  const std::optional<double> after = take_peak_resident_kib();
  if (before && after) prepared.extra_kib = std::max(0.0, *after - *before);
  prepared.contestants.push_back({std::move(name), {.run = std::move(call)}});
}

void add_peer(Prepared& prepared, const std::string& name, std::function<void()> call,
              const std::function<std::vector<float>()>& output, std::span<const float> expected) {
  call();
  const std::vector<float> actual = output();
  if (actual.size() < expected.size()) {
    prepared.absent.push_back(
        fmt::format("{}: gave {} values, not {}", name, actual.size(), expected.size()));
    return;
  }
  const double difference = largest_difference(expected, actual);
  if (!(difference <= kTolerance)) {
    prepared.absent.push_back(
        fmt::format("{}: differs from ours by {:.2g} of the largest value", name, difference));
    return;
  }
  prepared.contestants.push_back({name, {.run = std::move(call)}});
}

void add_absent(Prepared& prepared, const std::string& name, const Error& error) {
  prepared.absent.push_back(name + ": " + error.what);
}

Result<void> start_with_ours(Prepared& prepared, const std::string& name, const Operation& ours) {
  add_ours(prepared, name, ours.task().run);
  const double error = ours.task().check();
  if (error <= kLargestError) return {};
  return environment_error(0, fmt::format("ours is wrong by {:.2g}", error));
}

void add_onednn(Prepared& prepared, const Result<OnednnWork>& work,
                std::span<const float> expected) {
  if (work) {
    add_peer(prepared, "onednn", work->run, work->output, expected);
  } else {
    add_absent(prepared, "onednn", work.error());
  }
}

void add_torch(Prepared& prepared, Peers& peers, const std::string& spec) {
  if (const Result<void> ready = peers.torch.prepare(spec); !ready) {
    add_absent(prepared, "pytorch", ready.error());
    return;
  }
  const auto slice_ns = [&peers](double seconds) -> std::optional<double> {
    const Result<double> ns = peers.torch.slice_ns(seconds);
    if (ns) return *ns;
    peers.torch_gone = ns.error().what;
    return std::nullopt;
  };
  prepared.contestants.push_back({"pytorch", {.slice_ns = slice_ns}});
}

}  // namespace hwprof::bench
