#include "src/commands/loaded_blas.h"

#include <chrono>
#include <vector>

#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/evidence/own_openblas.h"
#include "src/blas/judge/judge.h"
#include "src/blas/ladder/ladder.h"

namespace hwprof {

Result<LoadedBlas> load_blas(const std::string& wanted, int threads) {
  LoadedBlas loaded;
  Result<BlasLibrary> library = BlasLibrary::load(wanted);
  if (!library) {
    if (library.error().fault == Fault::kUsage) return error_of(library);
    loaded.reason = library.error().what;
    return loaded;
  }
  loaded.threads_by_itself = blas::identify(*library).threads;
  const bool told = library->set_threads(threads);
  loaded.identity = blas::identify(*library);
  loaded.threads = loaded.identity->threads.value_or(told ? threads : 1);
  loaded.library = std::move(*library);
  return loaded;
}

void start_blas_threads(const BlasLibrary& library) {
  constexpr std::size_t kSize = 256;
  const std::vector<float> a(kSize * kSize, 1.0f);
  std::vector<float> c(kSize * kSize);
  library.sgemm(false, false, kSize, kSize, kSize, 1.0f, a.data(), kSize, a.data(), kSize, 0.0f,
                c.data(), kSize);
}

report::ProfileBlas judge_blas(const LoadedBlas& loaded, const Machine& machine,
                               const BlasQuestion& question) {
  report::ProfileBlas record;
  record.environment = blas::blas_environment();
  record.requested = question.requested;
  blas::Evidence evidence{.requested = question.requested,
                          .environment = record.environment,
                          .isa = machine.isa,
                          .cpu = machine.id,
                          .virtualized = machine.virtualized,
                          .installed = blas::installed_blas(),
                          .cpus = question.cpus.size(),
                          .threads = loaded.threads_by_itself};
  if (loaded.library) {
    evidence.library = *loaded.identity;
    evidence.library.threads = loaded.threads;
    if (question.ladder) {
      const auto budget =
          std::chrono::milliseconds(static_cast<int>(1000 * question.ladder_seconds));
      blas::Ladder ladder =
          blas::climb(*loaded.library, *loaded.identity, evidence.installed, machine,
                      {.budget = budget,
                       .cpus = question.cpus,
                       .stop = question.stop,
                       .own = blas::own_openblas()});
      std::move(ladder).move_to(record);
      evidence.library.behind = record.behind;
    } else {
      record.ladder_note = "not measured (--no-ladder)";
    }
  }
  static_cast<report::Verdict&>(record) = blas::judge(evidence, record.ladder);
  return record;
}

}  // namespace hwprof
