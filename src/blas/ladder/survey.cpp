// Each BLAS of a machine, as it is found.
#include <fmt/format.h>

#include <algorithm>

#include "src/blas/ladder/ladder.h"
#include "src/blas/ladder/plan.h"
#include "src/blas/ladder/rung.h"
#include "src/measure/peak.h"

namespace hwprof::blas {

using report::SurveyedBlas;
using std::chrono::milliseconds;

std::vector<SurveyedBlas> survey(const std::vector<report::InstalledBlas>& libraries,
                                 const SurveyOptions& options) {
  const auto deadline = std::chrono::steady_clock::now() + options.budget;
  const std::string peak_isa = fastest_fma_kernel().isa;
  std::vector<SurveyedBlas> all;
  for (const report::InstalledBlas& library : libraries) {
    SurveyedBlas& one = all.emplace_back();
    static_cast<report::InstalledBlas&>(one) = library;
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    const milliseconds allowed = std::min(left, options.longest_child);
    if (allowed <= milliseconds::zero()) {
      one.reason = fmt::format("not measured within {} ms", options.budget.count());
      continue;
    }
    const auto result = measure_in_child(options.program,
                                         {.library = library.path,
                                          .cpus = {},
                                          .expected_core = "",
                                          .peak_isa = peak_isa,
                                          .with_dgemm = true},
                                         environment_with(true), allowed);
    if (!result) {
      one.reason = result.error().what;
      continue;
    }
    static_cast<report::Blas&>(one) = result->identity;
    one.path = library.path;
    one.provider = library.provider;
    one.size = result->size;
    one.sgemm_gflops = result->gflops;
    one.sgemm_peak_fraction = result->peak_fraction;
    one.dgemm_gflops = result->dgemm_gflops;
    one.dgemm_peak_fraction = result->dgemm_peak_fraction;
  }
  return all;
}

}  // namespace hwprof::blas
