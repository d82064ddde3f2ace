#include "src/measure/thread_shares.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastThreadShare = 0.01;

// Nanoseconds on a CPU of each thread, by its id: the first number of its schedstat (Linux,
// Documentation/scheduler/sched-stats.rst). Empty where the kernel does not keep it.
std::map<std::string, double> cpu_ns_by_thread() {
  std::map<std::string, double> cpu_ns;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "schedstat");
    double ns = 0;
    if (file >> ns) cpu_ns[task.path().filename().string()] = ns;
  }
  return cpu_ns;
}

}  // namespace

ThreadShares measure_thread_shares(const std::function<void()>& run, double seconds) {
  const auto before = cpu_ns_by_thread();
  const auto begin = Clock::now();
  double elapsed_ns = 0;
  do {
    run();
    elapsed_ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  } while (elapsed_ns < seconds * 1e9);
  const auto after = cpu_ns_by_thread();
  if (before.empty() || after.empty()) {
    return {{}, "the kernel keeps no /proc/self/task/*/schedstat"};
  }
  ThreadShares result;
  for (const auto& [thread, cpu_ns] : after) {
    const auto earlier = before.find(thread);
    const double share = (cpu_ns - (earlier == before.end() ? 0 : earlier->second)) / elapsed_ns;
    if (share >= kLeastThreadShare) result.shares.push_back(share);
  }
  std::sort(result.shares.begin(), result.shares.end(), std::greater<>());
  return result;
}

}  // namespace hwprof
