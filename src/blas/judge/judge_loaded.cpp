#include "src/blas/judge/judge_loaded.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/blas/judge/steps.h"
#include "src/blas/judge/words.h"

namespace hwprof::blas {

using report::LadderRung;
using report::Verdict;

report::Verdict judge_loaded(const LoadedContext& context, const report::Blas& library,
                             const std::map<std::string, std::string>& environment) {
  Evidence evidence;
  static_cast<report::Blas&>(evidence.library) = library;
  evidence.loaded = true;
  evidence.environment = environment;
  evidence.cpu = context.cpu;
  evidence.installed = context.installed;
  evidence.surer =
      context.ladder.empty() ? "run without --no-ladder" : "hwprof attach PID compares it";
  // Another version of the library may have other kernels under the same name.
  const bool measured =
      std::any_of(context.ladder.begin(), context.ladder.end(), [&](const LadderRung& rung) {
        return rung.library == library.path ||
               (rung.provider == library.provider && rung.version == library.version);
      });
  std::vector<LadderRung> ladder;
  if (measured) ladder = ladder_of_program(context.ladder, library, VectorClass::kNone);
  Verdict verdict = judge(evidence, ladder);
  if (verdict.fix.starts_with("unset ")) verdict.fix = "restart the process after: " + verdict.fix;
  return verdict;
}

Verdict judge_process(const std::vector<Verdict>& libraries) {
  if (libraries.empty()) return {};
  const Verdict& first = libraries.front();
  const bool agree = std::all_of(libraries.begin(), libraries.end(),
                                 [&](const Verdict& one) { return one.verdict == first.verdict; });
  if (agree) return first;
  Verdict verdict;
  std::vector<std::string> each;
  for (const Verdict& one : libraries)
    each.push_back(fmt::format("{} {}", kernels_of(one), report::to_text(one.verdict)));
  verdict.why =
      fmt::format("it has loaded several, and which of them it calls is not known: {}", join(each));
  verdict.fix = "hwprof attach PID";
  return verdict;
}

}  // namespace hwprof::blas
