// The BLAS of `hwprof profile`, `sweep` and `blas`: loaded, told its threads, identified and
// judged.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "counters/machine.h"
#include "counters/machine/affinity.h"
#include "kernels/blas_library.h"
#include "src/base/result.h"
#include "src/blas/providers/choice.h"
#include "src/model/record.h"

namespace hwprof {

struct LoadedBlas {
  std::optional<BlasLibrary> library;
  std::optional<blas::Identity> identity;
  std::string reason;  // why there is none
  int threads = 1;
  std::optional<int> threads_by_itself;  // before it was told any
};

// `wanted` as BlasLibrary::load() takes it. Fails for a wrong name only: without any BLAS the rest
// of the report stands.
Result<LoadedBlas> load_blas(const std::string& wanted, int threads);

// The fastest BLAS that the ladder measured, where programs get another or none: what the same
// products could take. Absent where they get the best one, or it cannot be had in this process;
// then with the reason, where there is one to be told.
struct BestBlas {
  std::optional<LoadedBlas> loaded;
  std::string reason;
};
BestBlas load_best(const report::ProfileBlas& judged, const LoadedBlas& found);

// "OpenBLAS 0.3.21 Cooperlake"
std::string library_in_words(const blas::Identity& identity);

// An OpenMP build starts its threads at the first large product, with the affinity that the caller
// has then; so this comes before the caller is narrowed to one CPU.
void start_blas_threads(const BlasLibrary& library);

struct BlasQuestion {
  std::string requested;  // --blas
  bool ladder = true;
  double ladder_seconds = 2;
  CpuList cpus;
  const std::atomic<bool>* stop = nullptr;
};
report::ProfileBlas judge_blas(const LoadedBlas& loaded, const Machine& machine,
                               const BlasQuestion& question);

}  // namespace hwprof
