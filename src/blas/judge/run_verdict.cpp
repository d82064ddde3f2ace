#include "src/blas/judge/run_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/blas/evidence/served.h"
#include "src/blas/judge/run_findings.h"
#include "src/blas/judge/verdict.h"
#include "src/blas/providers/core_types.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;
using report::RunBlas;

// The variable that forces a core type of this provider, if the program had it.
std::string core_assignment(const std::string& provider, const RunVerdictInput& input) {
  for (const ProviderVariables& variables : kProviderVariables) {
    const auto set = input.evidence.declared.environment.find(variables.core);
    if (provider == variables.provider && set != input.evidence.declared.environment.end()) {
      return fmt::format("{}={}", set->first, set->second);
    }
  }
  return "";
}

// The ladder as if it had been climbed inside the program: the rung that ran there is "as found".
// Empty when none of its rungs is what ran.
std::vector<LadderRung> ladder_of_program(const RunVerdictInput& input, const Served& served) {
  std::vector<LadderRung> ladder = input.ladder;
  const std::string core = served.core != nullptr ? served.core->core : "";
  LadderRung* found = nullptr;
  for (LadderRung& rung : ladder) {
    if (rung.provider != served.provider || rung.core != core || !rung.peak_fraction) continue;
    // Without a core only the file tells two of them apart.
    if (core.empty() && served.provider != "reference" && rung.library != served.path) continue;
    if (found == nullptr || (rung.as_found && !found->as_found)) found = &rung;
  }
  if (found == nullptr) return {};
  // What hwprof itself would get: the library's own choice, where no variable made another.
  const bool has_auto = std::any_of(ladder.begin(), ladder.end(), [&](const LadderRung& rung) {
    return rung.setting == "auto" && rung.library == found->library;
  });
  for (LadderRung& rung : ladder) {
    if (rung.as_found && &rung != found && !has_auto) rung.setting = "auto";
    rung.as_found = &rung == found;
  }
  return ladder;
}

int rank_of_width(const std::string& width, bool fma) {
  if (width == "512") return vector_rank("avx512");
  if (width == "256") return vector_rank(fma ? "avx2" : "avx");
  if (width == "128") return vector_rank("sse");
  return width == "scalar" ? vector_rank("scalar") : -1;
}

// The core that was chosen says which kernels there are; a loop that was sampled may be one that
// only packs. Where no core is known, the loop is all there is.
int rank_in_use(const Served& served) {
  const int chosen = served.core != nullptr ? vector_rank(served.core->vector_class) : -1;
  if (chosen >= 0 || served.loops == nullptr || !served.sampled) return chosen;
  return rank_of_width(served.loops->width, served.loops->fma);
}

void judge_by_width(const RunVerdictInput& input, const Served& served, RunBlas& result) {
  const int rank = rank_in_use(served);
  const std::string widest_class = widest_vector_class(input.isa);
  const int widest = vector_rank(widest_class);
  const std::string width = width_of(served);
  const std::string assignment = core_assignment(served.provider, input);
  if (rank < 0) {
    result.verdict = "inconclusive";
    result.why = fmt::format(
        "{} served, but neither its core type nor the vectors that it executed are known",
        kernels_of(served));
    result.fix = "run without --no-ladder, or for longer";
    return;
  }
  result.why = fmt::format("{} served", kernels_of(served));
  if (!width.empty()) result.why += fmt::format(": {}", width);
  if (rank >= widest) {
    result.verdict = "optimal";
    result.why += ", as wide as this CPU has; no core type was measured";
    return;
  }
  const bool narrow = rank <= vector_rank("sse");
  result.verdict = narrow ? "unoptimised" : "suboptimal";
  result.why += fmt::format(", on a CPU with {}", widest_class == "avx512" ? "512-bit vectors"
                                                  : widest_class == "avx2" ? "256-bit FMA"
                                                  : widest_class == "avx"  ? "256-bit vectors"
                                                                           : "128-bit vectors");
  if (!assignment.empty()) {
    result.why += fmt::format("; {} is set in the environment", assignment);
    result.fix = "unset " + assignment.substr(0, assignment.find('='));
  } else if (served.provider == "openblas") {
    result.fix = "install a newer OpenBLAS, one that knows this CPU";
  } else {
    result.fix = "apt install libopenblas0-pthread";
    for (const InstalledBlas& library : input.installed) {
      if (library.file.provider == "openblas" && !library.select.empty()) {
        result.fix = "sudo " + library.select;
        break;
      }
    }
  }
}

void judge_by_ladder(const RunVerdictInput& input, const Served& served,
                     const std::vector<LadderRung>& ladder, RunBlas& result) {
  VerdictInput question;
  question.identity = Identity{};
  question.identity->provider = served.provider;
  question.identity->version = result.version;
  question.identity->core = result.core;
  question.path = served.path;
  question.environment = input.evidence.declared.environment;
  question.ladder = ladder;
  question.isa = input.isa;
  question.installed = input.installed;
  Verdict verdict = judge(question);
  result.verdict = std::move(verdict.verdict);
  result.factor = verdict.factor;
  result.why = std::move(verdict.why);
  result.fix = std::move(verdict.fix);
}

std::string class_name(const std::string& vector_class) {
  if (vector_class == "avx512") return "512-bit";
  if (vector_class == "avx2") return "256-bit FMA";
  return vector_class == "avx" ? "256-bit" : "";
}

// "this CPU's 512-bit kernels are 1.9 times faster; OPENBLAS_CORETYPE=Haswell is set in the
// environment: unset it"
std::string loss_of(const RunVerdictInput& input, const Served& served, const RunBlas& result,
                    const std::vector<LadderRung>& ladder) {
  if (result.verdict != "suboptimal" && result.verdict != "unoptimised") return "";
  std::string text;
  if (result.factor.value_or(0) > Thresholds{}.optimal_factor) {
    const auto faster = [](const LadderRung& a, const LadderRung& b) {
      return a.peak_fraction.value_or(0) < b.peak_fraction.value_or(0);
    };
    const LadderRung& best = *std::max_element(ladder.begin(), ladder.end(), faster);
    const auto found =
        std::find_if(ladder.begin(), ladder.end(), [](const auto& rung) { return rung.as_found; });
    const std::string width = class_name(best.vector_class);
    const bool wider = !width.empty() && found != ladder.end() &&
                       vector_rank(best.vector_class) > vector_rank(found->vector_class);
    text =
        wider
            ? fmt::format("this CPU's {} kernels are {:.1f} times faster", width, *result.factor)
            : fmt::format("{} is {:.1f} times faster",
                          best.core.empty() ? file_label(best.library) : best.core, *result.factor);
  }
  const std::string assignment = core_assignment(served.provider, input);
  const std::string name = assignment.substr(0, assignment.find('='));
  if (!assignment.empty() && result.fix.find("unset " + name) != std::string::npos) {
    return fmt::format("{}{}{} is set in the environment: unset it", text, text.empty() ? "" : "; ",
                       assignment);
  }
  if (!result.fix.empty()) text += (text.empty() ? "" : "; ") + result.fix;
  return text;
}

void judge_without_blas(const RunVerdictInput& input, const Served& served,
                        const RunThresholds& thresholds, RunBlas& result) {
  const report::BlasEvidence& evidence = input.evidence;
  const bool watched = evidence.called.how != "none";
  const bool inside_program = std::any_of(
      evidence.loaded.begin(), evidence.loaded.end(),
      [](const auto& library) { return library.serves_blas && library.soname.empty(); });
  if (served.other_share >= thresholds.notable_share) {
    result.verdict = "other-library";
    if (served.other.find("oneDNN") != std::string::npos) result.provider = "onednn";
    result.why = fmt::format("the work was done by {}, not by a BLAS", served.other);
    return;
  }
  if (!served.sampled && (!watched || inside_program || evidence.called.lost > 0)) {
    result.why = watched
                     ? fmt::format("no BLAS call was seen, and {} samples are too few to tell more",
                                   evidence.executed.samples)
                     : fmt::format("calls were not watched, and {} samples are too few",
                                   evidence.executed.samples);
    result.fix = watched ? "run it for longer" : "run it for longer, or as root";
    return;
  }
  result.verdict = "not-called";
  result.why = !watched                        ? "no time was spent in a BLAS"
               : evidence.called.calls.empty() ? "no BLAS function was called"
                                               : "no BLAS function was called that does work";
}

}  // namespace

RunBlas judge_run(const RunVerdictInput& input, const RunThresholds& thresholds) {
  RunBlas result;
  const Served served = who_served(input.evidence, thresholds);
  if (served.provider.empty()) {
    judge_without_blas(input, served, thresholds, result);
    if (result.verdict != "inconclusive") {
      result.findings = findings(input, served, "", thresholds);
    }
    return result;
  }
  result.provider = served.provider;
  result.path = served.path;
  if (served.core != nullptr) {
    result.version = served.core->version;
    result.core = served.core->core;
  }
  result.threads = threads_of(served);
  // A few calls beside the work of another library say nothing of the program's speed.
  if (served.sampled && served.blas_share < thresholds.negligible_share &&
      served.other_share >= thresholds.notable_share) {
    result.verdict = "other-library";
    result.why =
        fmt::format("the work was done by {}, not by the BLAS that was called", served.other);
    result.findings = findings(input, served, "", thresholds);
    return result;
  }
  const std::vector<LadderRung> ladder = ladder_of_program(input, served);
  if (ladder.empty()) {
    judge_by_width(input, served, result);
  } else {
    judge_by_ladder(input, served, ladder, result);
  }
  result.findings = findings(input, served, loss_of(input, served, result, ladder), thresholds);
  return result;
}

}  // namespace hwprof::blas
