#include "src/measure/thread_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/format.h"

namespace hwprof {
namespace {

using report::counted;
using report::ThreadSentence;

constexpr double kLeastSpinShare = 0.05, kLeastAccounted = 0.9;
constexpr std::uint64_t kLeastSamples = 100, kLeastThrottled = 3;
constexpr double kLeastReady = 0.1, kLeastThrottledShare = 0.05;
constexpr double kBusyPool = 0.1;     // of what the busiest pool's threads want
constexpr double kUneven = 1.3;       // times an equal share: chance makes less of 100 samples
constexpr double kMostOthers = 0.05;  // below it the program's own threads are in each other's way

std::string percents(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string seconds(double ns) { return fmt::format("{:.3g} s", ns * 1e-9); }

bool is_openmp(const std::string& name) {
  return name == "libgomp" || name == "libomp" || name == "libiomp5" || name == "PyTorch";
}

std::string variable_of(const std::string& pool) {
  if (pool == "OpenBLAS") return "OPENBLAS_NUM_THREADS";
  if (pool == "MKL") return "MKL_NUM_THREADS";
  if (pool == "BLIS") return "BLIS_NUM_THREADS";
  return is_openmp(pool) ? "OMP_NUM_THREADS" : "";
}

// Pools whose number of threads can be set, but for those that sleep.
std::vector<const PoolSpin*> pools_to_set(const ThreadEvidence& evidence) {
  double most_ns = 0;
  for (const PoolSpin& pool : evidence.pools) most_ns = std::max(most_ns, pool.wanted_ns);
  std::vector<const PoolSpin*> pools;
  for (const PoolSpin& pool : evidence.pools)
    if (!variable_of(pool.name).empty() && pool.wanted_ns >= kBusyPool * most_ns)
      pools.push_back(&pool);
  return pools;
}

std::vector<std::string> variables(const ThreadEvidence& evidence) {
  std::vector<std::string> all;
  for (const PoolSpin* pool : pools_to_set(evidence)) {
    std::string variable = variable_of(pool->name);
    if (std::find(all.begin(), all.end(), variable) == all.end())
      all.push_back(std::move(variable));
  }
  return all;
}

bool runs_openblas(const ThreadEvidence& evidence) {
  const std::vector<const PoolSpin*> pools = pools_to_set(evidence);
  return std::any_of(pools.begin(), pools.end(),
                     [](const PoolSpin* pool) { return pool->name == "OpenBLAS"; });
}

// What the affinity and the quota leave room for.
std::size_t room(const ThreadEvidence& evidence) {
  const std::size_t quota =
      evidence.quota_cpus ? static_cast<std::size_t>(std::ceil(std::max(1.0, *evidence.quota_cpus)))
                          : evidence.cpus;
  return std::max<std::size_t>(1, std::min(evidence.cpus, quota));
}

// Of pools that crowd the CPUs: the one inside another one, where calls show it.
const report::NestedPool* nested_of(const ThreadEvidence& evidence) {
  const std::vector<const PoolSpin*> pools = pools_to_set(evidence);
  const auto is_busy = [&](const std::string& name) {
    return std::any_of(pools.begin(), pools.end(),
                       [&](const PoolSpin* pool) { return pool->name == name; });
  };
  for (const report::NestedPool& nested : evidence.nested)
    if (is_busy(nested.inner)) return &nested;
  return nullptr;
}

// The inner of several pools or processes to one thread each; else one pool to the room there is.
std::string fewer_threads(const ThreadEvidence& evidence) {
  if (const report::NestedPool* inside = nested_of(evidence); inside != nullptr)
    return variable_of(inside->inner) + "=1";
  const std::vector<std::string> known = variables(evidence);
  const bool nested = evidence.busy_processes > 1 || known.size() > 1;
  if (nested && runs_openblas(evidence)) return "OPENBLAS_NUM_THREADS=1";
  if (evidence.busy_processes > 1 && !known.empty()) return known.front() + "=1";
  if (!known.empty()) return fmt::format("{}={}", known.front(), room(evidence));
  return fmt::format("start at most {}", counted(room(evidence), "thread"));
}

bool own_fault(const ThreadEvidence& evidence) {
  return evidence.others_share && *evidence.others_share < kMostOthers;
}

bool throttled(const ThreadEvidence& evidence) {
  return evidence.throttled_ns && evidence.throttled_times >= kLeastThrottled &&
         *evidence.throttled_ns >= kLeastThrottledShare * (evidence.run_ns + evidence.ready_ns) &&
         evidence.run_ns > 0;
}

// More threads wanted a CPU at once than there are: threads that hand a lock round do not.
bool wants_more(const ThreadEvidence& evidence) {
  constexpr double kMore = 1.1;
  return evidence.wall_ns == 0 || evidence.run_ns + evidence.ready_ns >
                                      kMore * static_cast<double>(evidence.cpus) * evidence.wall_ns;
}

bool oversubscribed(const ThreadEvidence& evidence) {
  return wants_more(evidence) && evidence.cpus > 0 &&
         static_cast<std::size_t>(evidence.busy_threads) > evidence.cpus &&
         evidence.ready_ns >= kLeastReady * (evidence.run_ns + evidence.ready_ns) &&
         evidence.ready_ns > 0 && own_fault(evidence);
}

ThreadSentence throttled_sentence(const ThreadEvidence& evidence) {
  const std::string quota = evidence.quota_cpus
                                ? fmt::format(" of {:.3g} CPU{}", *evidence.quota_cpus,
                                              *evidence.quota_cpus == 1 ? "" : "s")
                                : std::string();
  ThreadSentence sentence;
  sentence.text = fmt::format("the quota{} of the program's cgroup throttles it", quota);
  sentence.evidence = fmt::format("throttled in {}, {} over all CPUs, beside {} of running",
                                  counted(evidence.throttled_times, "period"),
                                  seconds(*evidence.throttled_ns), seconds(evidence.run_ns));
  const std::vector<std::string> known = variables(evidence);
  const bool more =
      evidence.quota_cpus && static_cast<std::size_t>(evidence.busy_threads) > room(evidence);
  sentence.fix = more && !known.empty()
                     ? fmt::format("{}={}, or a larger quota", known.front(), room(evidence))
                     : "a larger quota";
  return sentence;
}

std::string busy_text(const ThreadEvidence& evidence) {
  const auto threads = static_cast<std::size_t>(evidence.busy_threads);
  const auto processes = static_cast<std::size_t>(evidence.busy_processes);
  if (processes < 2) {
    std::string pools;
    for (const PoolSpin* pool : pools_to_set(evidence))
      pools += (pools.empty() ? "" : " and ") + pool->name;
    return counted(threads, "busy thread") +
           (variables(evidence).size() > 1 ? " of " + pools : std::string());
  }
  if (threads == processes) return fmt::format("{} busy processes", processes);
  if (threads % processes == 0)
    return fmt::format("{} processes x {}", processes, counted(threads / processes, "thread"));
  return fmt::format("{} of {} processes", counted(threads, "busy thread"), processes);
}

ThreadSentence oversubscribed_sentence(const ThreadEvidence& evidence) {
  const bool pinned = evidence.online > evidence.cpus;
  std::string pools;
  for (const PoolSpin& pool : evidence.pools) {
    if (pool.library && pool.threads > 0)
      pools += fmt::format("{}{} ({})", pools.empty() ? "" : ", ", pool.name, pool.threads);
  }
  ThreadSentence sentence;
  sentence.text =
      pinned ? fmt::format("{} are pinned to {} of {}", busy_text(evidence), evidence.cpus,
                           counted(evidence.online, "CPU"))
             : fmt::format("{} share {}", busy_text(evidence), counted(evidence.cpus, "CPU"));
  sentence.evidence = fmt::format(
      "ready without a CPU in {} of the threads' time, while other programs took {} of these CPUs",
      percents(evidence.ready_ns / (evidence.run_ns + evidence.ready_ns)),
      percents(std::max(0.0, *evidence.others_share)));
  if (!pools.empty()) sentence.evidence += "; pools: " + pools;
  if (const report::NestedPool* nested = nested_of(evidence); nested != nullptr) {
    sentence.text += fmt::format(": {}'s pool lies inside {}'s", nested->inner, nested->outer);
    sentence.evidence += fmt::format(
        "; {} of the time in {}'s calls of 20 us and more is in {} by threads of {}",
        percents(nested->time_share), nested->inner, counted(nested->calls, "call"), nested->outer);
  }
  sentence.fix = fewer_threads(evidence);
  return sentence;
}

bool enough(const ThreadEvidence& evidence, double share, std::uint64_t samples) {
  return share >= kLeastSpinShare && samples >= kLeastSamples &&
         evidence.accounted.value_or(0) >= kLeastAccounted;
}

std::string waits_evidence(const ThreadEvidence& evidence, std::uint64_t samples) {
  std::string text = counted(samples, "sample");
  text += samples == 1 ? " lies in a loop that only waits" : " lie in loops that only wait";
  text += fmt::format("; {} of the CPU time accounted for",
                      percents(std::min(1.0, *evidence.accounted)));
  if (evidence.estimated) text += ", what sched_yield took inside the kernel estimated";
  return text;
}

bool is_uneven(const PoolSpin& pool) { return pool.busiest_share * pool.workers >= kUneven; }

std::string work_evidence(const PoolSpin& pool) {
  if (pool.busiest_share == 0) return "";
  return fmt::format("; the busiest of {} did {} of the work outside them",
                     counted(static_cast<std::size_t>(pool.workers), "thread"),
                     percents(pool.busiest_share));
}

std::string calls_evidence(const ThreadEvidence& evidence, const PoolSpin& pool) {
  if (pool.name != "OpenBLAS" || !evidence.blas_calls) return "";
  const CallSizes& sizes = *evidence.blas_calls;
  std::string text = fmt::format("; its {} took {} in the mean", counted(sizes.calls, "call"),
                                 report::duration(sizes.mean_ns));
  return sizes.most.empty() ? text : text + ", most of them " + sizes.most;
}

std::string barrier_fix(const ThreadEvidence& evidence, const PoolSpin& pool) {
  if (throttled(evidence) || oversubscribed(evidence)) return fewer_threads(evidence);
  const bool fits = static_cast<std::size_t>(evidence.busy_threads) <= evidence.cpus;
  if (!evidence.others_share || evidence.cpus == 0) return "";
  if (!own_fault(evidence))
    return pool.name == "libgomp" && fits
               ? "OMP_WAIT_POLICY=passive, while other programs hold some of the CPUs"
               : "";
  if (is_openmp(pool.name) && runs_openblas(evidence)) return "OPENBLAS_NUM_THREADS=1";
  if (!is_openmp(pool.name)) return "";
  return is_uneven(pool) || pool.busiest_share == 0
             ? "balance the work between the threads (schedule(dynamic)), or use fewer of them"
             : "longer parts between the barriers, or fewer threads";
}

}  // namespace

std::vector<ThreadSentence> thread_sentences(const ThreadEvidence& evidence) {
  std::vector<ThreadSentence> sentences;
  if (throttled(evidence)) {
    sentences.push_back(throttled_sentence(evidence));
  } else if (oversubscribed(evidence)) {
    sentences.push_back(oversubscribed_sentence(evidence));
  }
  for (const PoolSpin& pool : evidence.pools) {
    if (!enough(evidence, pool.barrier_share, pool.barrier_samples)) continue;
    sentences.push_back(
        {fmt::format("{} of the CPU time is spent spinning {}{}", percents(pool.barrier_share),
                     pool.library ? "at " + pool.name + "'s barriers"
                                  : "in loops of " + pool.name + " that only wait",
                     is_openmp(pool.name) && is_uneven(pool) ? ": the work is unbalanced" : ""),
         waits_evidence(evidence, pool.barrier_samples) + work_evidence(pool) +
             calls_evidence(evidence, pool),
         barrier_fix(evidence, pool)});
  }
  for (const PoolSpin& pool : evidence.pools) {
    if (!enough(evidence, pool.idle_share, pool.idle_samples)) continue;
    const std::string variable = variable_of(pool.name);
    sentences.push_back(
        {fmt::format("{} of the CPU time goes to idle workers of {}: that costs CPU time, not wall "
                     "time",
                     percents(pool.idle_share), pool.name),
         waits_evidence(evidence, pool.idle_samples) + calls_evidence(evidence, pool),
         variable.empty() ? "" : variable + "=1 saves it where its calls are too small to share"});
  }
  return sentences;
}

std::vector<std::string> changes_to_try(const std::vector<ThreadSentence>& sentences) {
  std::vector<std::string> changes;
  for (const ThreadSentence& sentence : sentences) {
    std::string first = sentence.fix.substr(0, sentence.fix.find_first_of(", "));
    const std::size_t name = first.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    if (name == 0 || name == std::string::npos || first[name] != '=') continue;
    if (std::find(changes.begin(), changes.end(), first) == changes.end())
      changes.push_back(std::move(first));
  }
  return changes;
}

}  // namespace hwprof
