// What may be said of a program's threads, each sentence with the evidence that it needs; where
// that is not enough, nothing. The thresholds were found on programs whose truth was known. Pure.
//
// No sentence tells a factor: only reruns can. KMP_BLOCKTIME=0 is never advised, nor the passive
// policy to LLVM's OpenMP, which is the same: it made a program 1.4 times slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/thread_use.h"

namespace hwprof {

struct PoolSpin {
  std::string name;
  bool library = true;  // else the program's own code
  int threads = 0;
  double barrier_share = 0, idle_share = 0;  // of the program's CPU time
  std::uint64_t barrier_samples = 0, idle_samples = 0;
  // CPU time that the threads it started had or wanted; 0: not known.
  double wanted_ns = 0;
  // Of the work of those who wait in it, the share of the one who did most; 0: not known.
  double busiest_share = 0;
  int workers = 0;  // that share that work
};

// The calls of the program's BLAS.
struct CallSizes {
  std::uint64_t calls = 0;
  double mean_ns = 0;
  std::string most;  // "sgemm_ 192x192x192": what most of them were; "": not known
};

struct ThreadEvidence {
  std::vector<PoolSpin> pools;                  // most waiting first
  std::vector<report::NestedPool> nested = {};  // most time first
  // CPU time that samples and the estimate for users account for, over all of it.
  std::optional<double> accounted = {};
  bool estimated = false;
  double run_ns = 0, ready_ns = 0;  // 0, 0: not known
  double wall_ns = 0;               // in which they ran; 0: not known
  // Threads that ran or wanted to for much of the time, and the processes that they are of.
  int busy_threads = 0, busy_processes = 0;
  std::size_t cpus = 0;                     // that they may use; 0: not known
  std::size_t online = 0;                   // that the machine has
  std::optional<double> others_share = {};  // of those CPUs' time, that other programs took
  std::optional<double> throttled_ns = {};
  std::uint64_t throttled_times = 0;
  std::optional<double> quota_cpus = {};
  std::optional<CallSizes> blas_calls = {};
};

// Most important first.
std::vector<report::ThreadSentence> thread_sentences(const ThreadEvidence& evidence);

// The variables that their fixes begin with, each NAME=value once: what can be tried by running the
// program again.
std::vector<std::string> changes_to_try(const std::vector<report::ThreadSentence>& sentences);

}  // namespace hwprof
