#include "src/blas/evidence/module_evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "src/base/format.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/executed.h"
#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

const report::ChosenCore* core_of(const report::BlasEvidence& evidence,
                                  const report::ModuleCall& call) {
  return core_behind(evidence.chosen_cores, call.library, call.provider);
}

// What is known of one library.
void add_library_facts(const report::BlasEvidence& evidence, const std::string& onednn,
                       report::ModuleCall& call) {
  for (const report::LoadedLibrary& library : evidence.loaded) {
    if (library.path != call.library) continue;
    call.provider = library.provider;
    if (const int always = facts(library.provider).threads; always > 0) call.threads = always;
  }
  if (const report::ChosenCore* core = core_of(evidence, call); core != nullptr) {
    call.provider = core->provider;
    call.core = core->core;
    if (core->threads) call.threads = core->threads;
  }
  if (call.provider == report::Provider::kOneDnn) call.core = onednn;
}

void set_call_fraction(std::optional<double> core_peak, std::size_t cpus,
                       report::ModuleCall& call) {
  if (!call.gflops) {
    call.peak_fraction_reason = call.time_ns ? "the shapes do not tell the FLOP of these calls"
                                             : "these calls are not timed";
  } else if (!peak_weight_of(call.routine, call.type)) {
    call.peak_fraction_reason = "no peak of this precision is measured";
  } else if (core_peak.value_or(0) <= 0) {
    call.peak_fraction_reason = "no peak was measured";
  } else if (!call.threads && cpus != 1) {
    call.peak_fraction_reason = "how many threads its library had is not known";
  } else {
    const auto cores =
        std::min<std::size_t>(static_cast<std::size_t>(call.threads.value_or(1)), cpus);
    call.peak_fraction = share_of_peak(call.routine, *call.gflops,
                                       *core_peak * static_cast<double>(cores), call.type);
  }
}

// "openblas SkylakeX (512-bit) on 2 threads", "onednn jit:avx512_core", "onednn reorder jit:blk"
std::string library_words(const report::ModuleCall& call, const report::BlasEvidence& evidence) {
  std::string text =
      report::is_known(call.provider) ? std::string(to_text(call.provider)) : call.library;
  if (!call.kernel.empty())
    return fmt::format("{} {}{}", text, call.gflops ? "" : call.routine + " ", call.kernel);
  if (call.provider == report::Provider::kOneDnn)
    return call.core.empty() ? text : fmt::format("{} (at most {})", text, call.core);
  if (!call.core.empty()) text += " " + call.core;
  const report::ChosenCore* core = core_of(evidence, call);
  if (core != nullptr && core->vector_class != report::VectorClass::kNone)
    text += fmt::format(" ({})", facts(core->vector_class).width);
  if (call.threads)
    text += " on " + report::counted(static_cast<std::uint64_t>(*call.threads), "thread");
  return text;
}

// "backward_weights" of "convolution backward_weights", where the words for another call of the
// module are the same.
std::string direction_words(const report::Module& module, const report::ModuleCall& call,
                            const report::BlasEvidence& evidence) {
  const std::string words = library_words(call, evidence);
  const auto same = std::count_if(
      module.calls.begin(), module.calls.end(),
      [&](const report::ModuleCall& other) { return library_words(other, evidence) == words; });
  const std::size_t space = call.routine.find(' ');
  return same > 1 && space != std::string::npos ? " " + call.routine.substr(space + 1) : "";
}

std::string module_sentence(const report::Module& module, const report::BlasEvidence& evidence) {
  if (module.calls.empty()) return module.calls_reason.empty() ? "no BLAS call" : "";
  std::vector<std::string> parts;
  for (const report::ModuleCall& call : module.calls) {
    std::string text = library_words(call, evidence) + direction_words(module, call, evidence);
    if (call.time_ns && module.total_ns.value_or(0) > 0)
      text += fmt::format(", {} of its time",
                          report::percent(std::min(1.0, *call.time_ns / *module.total_ns)));
    if (call.peak_fraction)
      text += fmt::format(", {} of peak", report::percent(*call.peak_fraction));
    parts.push_back(std::move(text));
    if (parts.size() == 2) break;
  }
  if (module.calls.size() > parts.size())
    parts.push_back(fmt::format("{} more", module.calls.size() - parts.size()));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

void add_module_evidence(const report::BlasEvidence& evidence, std::size_t cpus,
                         const std::string& onednn, std::vector<report::Module>& modules) {
  const std::optional<double> peak = evidence.achieved_rate.core_peak_gflops;
  for (report::Module& module : modules) {
    for (report::ModuleCall& call : module.calls) {
      add_library_facts(evidence, onednn, call);
      set_call_fraction(peak, cpus, call);
    }
    if (module.gflops && peak.value_or(0) > 0)
      module.peak_fraction = *module.gflops / (*peak * static_cast<double>(cpus));
    module.evidence = module_sentence(module, evidence);
  }
}

}  // namespace hwprof::blas
