#include "src/measure/thread_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "src/observe/samples/wait.h"

namespace hwprof {
namespace {

using observe::ThreadSamples;
using observe::WaitingSamples;
using report::ThreadUse;

constexpr std::pair<std::string_view, std::string_view> kLibraries[] = {
    {"libgomp", "libgomp"},   {"libomp.", "libomp"}, {"libomp-", "libomp"},   {"libomp5", "libomp"},
    {"libiomp5", "libiomp5"}, {"libtbb", "TBB"},     {"libtorch", "PyTorch"}, {"libc10", "PyTorch"},
    {"libmkl", "MKL"},        {"libblis", "BLIS"},   {"libpython", "Python"}, {"python3", "Python"},
    {"_multiproc", "Python"},
};

// What starts threads for others.
constexpr std::string_view kStarters[] = {"libc.so", "libc-", "libpthread", "libstdc++"};

// Of a yield loop an ordinary user sees 18 to 30 %, and 10 where others want the CPU too: the rest
// is the kernel's, which is not sampled.
constexpr double kLeastYieldSeen = 0.08;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

struct Pool {
  PoolSpin spin;
  std::set<int> threads, started;  // the first: those that waited in it, too
};

struct Sums {
  std::uint64_t samples = 0, arithmetic = 0, barrier = 0, idle = 0;
  double barrier_yield = 0, idle_yield = 0;
  double estimated = 0;  // samples that the kernel's time would have been
  std::map<std::string, Pool> pools;
  std::map<int, std::uint64_t> work;  // samples by thread that wait nowhere
};

Pool& pool_of(Sums& sums, const std::string& file) {
  const std::string name = pool_name(file);
  Pool& pool = sums.pools[name];
  pool.spin.name = name;
  pool.spin.library = name != file_name(file) || name.starts_with("lib");
  return pool;
}

bool starts_for_others(const std::string& file) {
  return std::any_of(std::begin(kStarters), std::end(kStarters), [&](std::string_view beginning) {
    return file_name(file).starts_with(beginning);
  });
}

// Every sample counts as `yield_scale` where it lies in sched_yield.
Sums add_up(const observe::SampleProfile& profile, double yield_scale) {
  Sums sums;
  for (const ThreadSamples& thread : profile.threads) {
    sums.samples += thread.samples;
    sums.arithmetic += thread.arithmetic;
    std::uint64_t& work = sums.work[thread.tid] += thread.samples;
    if (!thread.start_file.empty() && !starts_for_others(thread.start_file)) {
      Pool& pool = pool_of(sums, thread.start_file);
      pool.threads.insert(thread.tid);
      pool.started.insert(thread.tid);
    }
    for (const WaitingSamples& wait : thread.waits) {
      Pool& pool = pool_of(sums, wait.file);
      pool.threads.insert(thread.tid);
      work -= std::min(work, wait.samples);
      const double estimate = (yield_scale - 1) * static_cast<double>(wait.in_yield);
      const double worth = static_cast<double>(wait.samples) + estimate;
      sums.estimated += estimate;
      (wait.idle ? sums.idle : sums.barrier) += wait.samples;
      (wait.idle ? sums.idle_yield : sums.barrier_yield) += estimate;
      (wait.idle ? pool.spin.idle_share : pool.spin.barrier_share) += worth;
      (wait.idle ? pool.spin.idle_samples : pool.spin.barrier_samples) += wait.samples;
    }
  }
  return sums;
}

double in_yield(const observe::SampleProfile& profile) {
  std::uint64_t samples = 0;
  for (const ThreadSamples& thread : profile.threads)
    for (const WaitingSamples& wait : thread.waits) samples += wait.in_yield;
  return static_cast<double>(samples);
}

// What a sample in sched_yield stands for: where the kernel's time is not sampled, also for what is
// missing, but for no more than such loops were seen to have there.
double yield_scale(const ThreadInput& input) {
  const double yields = in_yield(input.samples);
  if (input.samples.kernel || !input.cpu_ns || yields == 0) return 1;
  const double wanted = *input.cpu_ns * 1e-9 * input.samples.hz;
  const double missing = wanted - static_cast<double>(input.samples.samples);
  return 1 + std::clamp(missing / yields, 0.0, 1 / kLeastYieldSeen - 1);
}

// Of a team: those that it started or that wait in it, and the first thread of their process, which
// works with them and need not wait for any.
void add_work(const observe::ThreadFacts& facts, const Sums& sums, Pool& pool) {
  constexpr std::uint64_t kLeastSamples = 100;
  std::set<int> team = pool.threads;
  for (const observe::BusyThread& thread : facts.threads)
    if (pool.started.contains(thread.tid)) team.insert(thread.pid);
  std::uint64_t all = 0, most = 0;
  for (const int tid : team) {
    const auto work = sums.work.find(tid);
    if (work == sums.work.end()) continue;
    all += work->second;
    most = std::max(most, work->second);
  }
  if (all < kLeastSamples || team.size() < 2) return;
  pool.spin.workers = static_cast<int>(team.size());
  pool.spin.busiest_share = static_cast<double>(most) / static_cast<double>(all);
}

// The clocks of the threads that each pool started; those of no pool have one of their own.
void add_clocks(const observe::ThreadFacts& facts, const Sums& sums, ThreadUse& use) {
  std::map<int, std::string> names;
  for (const auto& [name, pool] : sums.pools)
    for (const int tid : pool.started) names.emplace(tid, name);
  for (const observe::BusyThread& thread : facts.threads) {
    const auto found = names.find(thread.tid);
    const bool is_main = thread.tid == thread.pid;
    const std::string name = found != names.end() ? found->second
                             : is_main            ? "main threads"
                                                  : "other threads";
    auto pool = std::find_if(use.pools.begin(), use.pools.end(),
                             [&](const report::ThreadPool& one) { return one.name == name; });
    if (pool == use.pools.end()) pool = use.pools.insert(pool, report::ThreadPool{.name = name});
    if (found == names.end()) ++pool->threads;
    pool->run_ns = pool->run_ns.value_or(0) + thread.times.run_ns;
    pool->ready_ns = pool->ready_ns.value_or(0) + thread.times.ready_ns;
    pool->blocked_ns = pool->blocked_ns.value_or(0) + thread.times.blocked_ns;
  }
}

double wanted_ns(const ThreadUse& use, const std::string& name) {
  for (const report::ThreadPool& pool : use.pools)
    if (pool.name == name) return pool.run_ns.value_or(0) + pool.ready_ns.value_or(0);
  return 0;
}

// Where a good part of the time in the calls of a library with a pool of its own is of threads that
// another pool started: that part is all but the first thread's of an OpenMP team.
void add_nested(const ThreadInput& input, const Sums& sums, ThreadUse& use) {
  constexpr double kLeastShare = 0.25;
  constexpr std::uint64_t kLeastCalls = 20;
  std::map<int, std::string> started_by;
  for (const auto& [name, pool] : sums.pools)
    for (const int tid : pool.started) started_by.emplace(tid, name);
  std::map<std::string, double> all_ns;
  std::map<std::pair<std::string, std::string>, std::pair<std::uint64_t, double>> found;
  for (const observe::CallingThread& caller : input.callers) {
    const std::string inner = pool_name(caller.library);
    const auto pool = sums.pools.find(inner);
    if (pool == sums.pools.end() || pool->second.started.empty()) continue;
    all_ns[inner] += caller.time_ns;
    const auto outer = started_by.find(caller.thread);
    if (outer == started_by.end() || outer->second == inner) continue;
    auto& [calls, time_ns] = found[{outer->second, inner}];
    calls += caller.calls;
    time_ns += caller.time_ns;
  }
  for (const auto& [names, sum] : found) {
    const double share = sum.second / all_ns[names.second];
    if (sum.first >= kLeastCalls && share >= kLeastShare)
      use.nested.push_back(
          {.outer = names.first, .inner = names.second, .calls = sum.first, .time_share = share});
  }
  std::stable_sort(use.nested.begin(), use.nested.end(),
                   [](const auto& a, const auto& b) { return a.time_share > b.time_share; });
}

// Fills the shares; the evidence gets the pools.
void add_spinning(const ThreadInput& input, ThreadUse& use, ThreadEvidence& evidence) {
  const observe::SampleProfile& profile = input.samples;
  use.spin_reason = !input.no_samples.empty() ? input.no_samples
                    : profile.samples == 0    ? "no sample was taken"
                                              : observe::why_waits_are_not_known();
  if (!use.spin_reason.empty()) return;
  const double scale = yield_scale(input);
  Sums sums = add_up(profile, scale);
  const auto samples = static_cast<double>(sums.samples);
  const double wanted = input.cpu_ns ? *input.cpu_ns * 1e-9 * profile.hz : 0;
  // The kernel's time that no yield accounts for is work too.
  const double all = profile.kernel ? samples : std::max(samples + sums.estimated, wanted);
  use.estimated = sums.estimated > 0;
  use.arithmetic_share = static_cast<double>(sums.arithmetic) / all;
  use.spin_share = (static_cast<double>(sums.barrier) + sums.barrier_yield) / all;
  use.idle_worker_share = (static_cast<double>(sums.idle) + sums.idle_yield) / all;
  use.other_share =
      std::max(0.0, 1 - *use.arithmetic_share - *use.spin_share - *use.idle_worker_share);
  if (wanted > 0) {
    use.coverage = samples / wanted;
    evidence.accounted = (samples + sums.estimated) / wanted;
  }
  evidence.estimated = use.estimated;
  for (auto& [name, pool] : sums.pools) {
    pool.spin.threads = static_cast<int>(pool.threads.size());
    pool.spin.barrier_share /= all;
    pool.spin.idle_share /= all;
    add_work(input.facts, sums, pool);
    evidence.pools.push_back(pool.spin);
  }
  const auto share = [](const PoolSpin& pool) { return pool.barrier_share + pool.idle_share; };
  std::stable_sort(evidence.pools.begin(), evidence.pools.end(),
                   [&](const auto& a, const auto& b) { return share(a) > share(b); });
  for (const PoolSpin& pool : evidence.pools)
    use.pools.push_back({.name = pool.name, .threads = pool.threads, .spin_share = share(pool)});
  add_clocks(input.facts, sums, use);
  for (PoolSpin& pool : evidence.pools) pool.wanted_ns = wanted_ns(use, pool.name);
  add_nested(input, sums, use);
  evidence.nested = use.nested;
}

// Threads that ran or wanted to for a tenth of what the busiest did.
void count_busy(const observe::ThreadFacts& facts, ThreadEvidence& evidence) {
  constexpr double kBusy = 0.1;
  double most = 0;
  const auto use_of = [](const observe::BusyThread& thread) {
    return thread.times.run_ns + thread.times.ready_ns;
  };
  for (const auto& thread : facts.threads) most = std::max(most, use_of(thread));
  std::set<pid_t> processes;
  double life_ns = 0;
  for (const auto& thread : facts.threads) {
    if (most == 0 || use_of(thread) < kBusy * most) continue;
    ++evidence.busy_threads;
    processes.insert(thread.pid);
    life_ns += use_of(thread) + thread.times.blocked_ns;
  }
  // Those of a program that starts new ones again and again did not live at once.
  if (facts.wall_ns > 0) {
    const int at_once = static_cast<int>(std::ceil(life_ns / facts.wall_ns));
    evidence.busy_threads = std::min(evidence.busy_threads, std::max(1, at_once));
  }
  evidence.busy_processes =
      std::min(static_cast<int>(processes.size()), std::max(1, evidence.busy_threads));
}

void add_states(const ThreadInput& input, ThreadUse& use, ThreadEvidence& evidence) {
  const observe::ThreadFacts& facts = input.facts;
  use.clocks_reason = facts.clocks_reason;
  use.throttled_reason = facts.throttled_reason;
  if (facts.threads.empty()) {
    if (use.clocks_reason.empty()) use.clocks_reason = "no thread lived long enough to be read";
  } else {
    double blocked_ns = 0;
    evidence.wall_ns = facts.wall_ns;
    for (const auto& thread : facts.threads) {
      evidence.run_ns += thread.times.run_ns;
      evidence.ready_ns += thread.times.ready_ns;
      blocked_ns += thread.times.blocked_ns;
    }
    use.run_ns = evidence.run_ns;
    use.ready_ns = evidence.ready_ns;
    use.blocked_ns = blocked_ns;
    count_busy(facts, evidence);
  }
  if (facts.throttled) {
    use.throttled_ns = facts.throttled->ns;
    evidence.throttled_ns = facts.throttled->ns;
    evidence.throttled_times = facts.throttled->times;
    evidence.quota_cpus = facts.throttled->quota_cpus;
  }
  evidence.cpus = facts.allowed.size();
  evidence.online = input.online;
  const double offered_ns = static_cast<double>(facts.allowed.size()) * facts.wall_ns;
  // Clock ticks of 10 ms say nothing of less.
  constexpr double kLeastWallNs = 3e8;
  if (facts.busy_ns && input.cpu_ns && facts.wall_ns >= kLeastWallNs)
    evidence.others_share = (*facts.busy_ns - *input.cpu_ns - facts.own_ns) / offered_ns;
}

}  // namespace

std::string pool_name(const std::string& path) {
  // Debian's is openblas-pthread/libblas.so.3.
  if (path.find("openblas") != std::string::npos) return "OpenBLAS";
  const std::string_view name = file_name(path);
  for (const auto& [beginning, library] : kLibraries)
    if (name.starts_with(beginning)) return std::string(library);
  return std::string(name);
}

std::optional<CallSizes> openblas_calls(const std::vector<report::CallSite>& calls) {
  CallSizes sizes;
  double time_ns = 0;
  std::map<std::string, std::uint64_t> shapes;
  for (const report::CallSite& site : calls) {
    if (!site.time_ns || pool_name(site.library) != "OpenBLAS") continue;
    sizes.calls += site.count;
    time_ns += *site.time_ns;
    for (const report::CallShape& shape : site.shapes)
      shapes[fmt::format("{} {}x{}x{}", site.symbol, shape.m, shape.n, shape.k)] += shape.count;
  }
  if (sizes.calls == 0) return std::nullopt;
  sizes.mean_ns = time_ns / static_cast<double>(sizes.calls);
  for (const auto& [shape, count] : shapes)
    if (2 * count > sizes.calls) sizes.most = shape;
  return sizes;
}

ThreadUse thread_use(const ThreadInput& input) {
  ThreadUse use;
  ThreadEvidence evidence;
  evidence.blas_calls = input.blas_calls;
  add_spinning(input, use, evidence);
  add_states(input, use, evidence);
  use.sentences = thread_sentences(evidence);
  return use;
}

}  // namespace hwprof
