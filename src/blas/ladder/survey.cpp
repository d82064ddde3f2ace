#include "src/blas/ladder/survey.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "src/blas/ladder/child_output.h"
#include "src/measure/peak.h"

namespace hwprof::blas {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::vector<std::string> whole_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  return all;
}

double speed(const Surveyed& one) { return one.result ? one.result->gflops : -1; }

}  // namespace

std::vector<Surveyed> survey(const std::vector<InstalledBlas>& libraries,
                             const SurveyOptions& options) {
  const auto deadline = Clock::now() + options.budget;
  const std::string peak_isa = fastest_fma_kernel().isa;
  std::vector<Surveyed> all;
  for (const InstalledBlas& library : libraries) {
    Surveyed& one = all.emplace_back(Surveyed{library, std::nullopt, ""});
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    const milliseconds allowed = std::min(left, options.longest_child);
    if (allowed <= milliseconds::zero()) {
      one.reason = fmt::format("not measured within {} ms", options.budget.count());
      continue;
    }
    const RungTask task{library.path, {}, "", peak_isa, true};
    const auto output = child_output(options.program, rung_arguments(task), whole_environment(),
                                     Clock::now() + allowed);
    if (!output) {
      one.reason = output.error().what;
    } else if (const auto result = parse_rung_output(output->out)) {
      one.result = *result;
    } else {
      one.reason = !output->out.empty() ? result.error().what : why_it_ended(*output, allowed);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Surveyed& a, const Surveyed& b) { return speed(a) > speed(b); });
  return all;
}

}  // namespace hwprof::blas
