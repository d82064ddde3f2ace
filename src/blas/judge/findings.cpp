// The sentences of the verdict on a program.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/blas/judge/judge_run.h"
#include "src/blas/judge/words.h"

namespace hwprof::blas {
namespace {

constexpr std::size_t kMostCallSites = 3;  // sentences; the list of calls has all
constexpr double kNotableFlops = 0.05;     // of all: what does less needs no sentence

std::string percent(double fraction) {
  return fraction < 0.01 ? "under 1 %" : fmt::format("{:.0f} %", 100 * fraction);
}

std::string with_width(const std::string& text, const std::string& width, const char* before) {
  return width.empty() ? text : text + before + width;
}

std::string width_of_loops(const report::LibraryLoops* loops) {
  if (loops == nullptr) return "";
  const std::string& width = loops->width;
  if (width == "scalar") return "scalar code";
  if (width != "512" && width != "256" && width != "128") return "";
  return width + (loops->fma ? "-bit FMA" : "-bit without FMA");
}

std::string count_of_calls(std::uint64_t count) {
  return count == 1 ? "1 call" : fmt::format("{} calls", count);
}

bool is_of(const std::string& path, Provider provider, const report::BlasEvidence& evidence) {
  return std::any_of(evidence.loaded.begin(), evidence.loaded.end(), [&](const auto& library) {
    return library.path == path && library.provider == provider;
  });
}

// "100 calls of sgemm_ from libtorch_cpu"
std::string calls_of(const report::CallSite& site) {
  std::string text = fmt::format("{} of {}", count_of_calls(site.count), site.symbol);
  if (!site.caller.empty()) text += " from " + file_label(site.caller);
  return text;
}

// "256-bit FMA" of what executed, else of the core; "" when neither is known.
std::string width_of(const ProviderAtWork& work) {
  const std::string width = width_of_loops(work.loops);
  return width.empty() ? report::facts(work.library.vector_class).arithmetic : width;
}

std::string served_by(const ProviderAtWork& work) {
  const std::string width = width_of(work);
  std::string text = kernels_of(work.library);
  if (!width.empty()) text += fmt::format(" ({})", width);
  if (const auto threads = work.library.threads) {
    text += fmt::format(" on {} {}", *threads, *threads == 1 ? "thread" : "threads");
    // A thread for each call, or each loop, is no work at once.
    if (work.loops != nullptr && report::take_turns(*work.loops))
      text += fmt::format(" ({:.1f} at once)", work.loops->at_once);
  }
  return text;
}

// What happened in the BLAS that did the work.
void add_served(const report::BlasEvidence& evidence, const ProviderAtWork& work,
                const std::string& loss, std::vector<std::string>& all) {
  std::vector<std::string> own, foreign;
  double most_flops = 0;
  for (const report::CallSite& site : evidence.called.calls) {
    most_flops = std::max(most_flops, site.flops.value_or(0));
  }
  for (const report::CallSite& site : evidence.called.calls) {
    if (site.flops && *site.flops < kNotableFlops * most_flops) continue;
    if (is_of(site.library, Provider::kOneDnn, evidence))
      continue;  // said with the share of the time
    const bool is_own = work.library.provider == Provider::kUnknown ||
                        site.library == work.library.path ||
                        is_of(site.library, work.library.provider, evidence);
    if (is_own && own.size() < kMostCallSites) own.push_back(calls_of(site));
    if (!is_own && foreign.size() < kMostCallSites) {
      foreign.push_back(fmt::format("{}, served by {}.", calls_of(site), file_label(site.library)));
    }
  }
  const auto& lapack = evidence.called.lapack;
  std::string sentence;
  if (!own.empty()) {
    sentence = fmt::format("{}, served by {}", fmt::join(own, " and "), served_by(work));
    // Of a library without a name that tells how good it is.
    const auto reached = evidence.achieved_rate.peak_fraction;
    if (reached && work.library.provider == Provider::kUnknown)
      sentence += fmt::format(" at {:.2g} % of the FMA peak", 100 * *reached);
  } else {
    sentence = fmt::format("{} of the time is in {}", percent(work.blas_share), served_by(work));
    if (!lapack.empty()) {
      sentence += "; no call of a BLAS was seen: it calls itself for LAPACK";
    } else if (evidence.called.how != "none") {
      sentence += "; no call into it was seen: it is linked statically, or calls itself (LAPACK)";
    }
  }
  if (!loss.empty()) sentence += "; " + loss;
  all.push_back(sentence + ".");
  all.insert(all.end(), foreign.begin(), foreign.end());
  if (!lapack.empty())
    all.push_back(fmt::format("Of LAPACK: {}, served by {}.", calls_of(lapack.front()),
                              file_label(lapack.front().library)));
}

void add_other(const ProviderAtWork& work, bool no_call, std::vector<std::string>& all) {
  const std::string what = with_width(work.other, width_of_loops(work.other_loops), ", ");
  all.push_back(
      no_call ? fmt::format("No BLAS call: {} of the time is {}.", percent(work.other_share), what)
              : fmt::format("{} of the time is {}, and no BLAS call.", percent(work.other_share),
                            what));
}

void add_nothing_called(const report::BlasEvidence& evidence, const ProviderAtWork& work,
                        std::vector<std::string>& all) {
  const report::Executed& executed = evidence.executed;
  std::string sentence =
      evidence.called.how == "none" ? "No time in a BLAS" : "No BLAS call that does work";
  if (evidence.called.calls.empty() && evidence.called.how != "none") sentence = "No BLAS call";
  if (work.sampled && !executed.loops.empty()) {
    const report::LibraryLoops& hottest = executed.loops.front();
    sentence +=
        fmt::format(": {} of the time is {}", percent(hottest.fraction),
                    with_width(file_label(hottest.library), width_of_loops(&hottest), ", "));
  }
  all.push_back(sentence + ".");
  for (const report::CallSite& site : evidence.called.calls) {
    if (is_of(site.library, Provider::kOneDnn, evidence)) continue;
    all.push_back(fmt::format("{}, served by {}, is too little to matter.", calls_of(site),
                              file_label(site.library)));
    break;
  }
}

// A tool that lists what is loaded would name these.
void add_only_loaded(const report::BlasEvidence& evidence, const ProviderAtWork& work,
                     std::vector<std::string>& all) {
  std::vector<std::string> idle;
  for (const report::LoadedLibrary& library : evidence.loaded) {
    if (library.serves_blas && library.provider != work.library.provider &&
        library.provider != Provider::kOneDnn) {
      idle.push_back(fmt::format("{} ({})", file_label(library.path), to_text(library.provider)));
    }
  }
  std::sort(idle.begin(), idle.end());
  idle.erase(std::unique(idle.begin(), idle.end()), idle.end());
  if (!idle.empty()) {
    all.push_back(fmt::format("{} {} loaded too, and did not do this work.", fmt::join(idle, ", "),
                              idle.size() == 1 ? "is" : "are"));
  }
}

}  // namespace

std::vector<std::string> findings(const report::BlasEvidence& evidence, const ProviderAtWork& work,
                                  const std::string& loss, const Thresholds& thresholds) {
  std::vector<std::string> all;
  const bool blas = is_known(work.library.provider);
  const bool other = work.other_share >= thresholds.notable_share;
  // What took more of the time comes first.
  const bool other_first = other && blas && work.blas_share < thresholds.negligible_share;
  if (other_first) add_other(work, false, all);
  if (blas) add_served(evidence, work, loss, all);
  if (other && !other_first) add_other(work, !blas, all);
  if (!blas && !other) add_nothing_called(evidence, work, all);
  add_only_loaded(evidence, work, all);
  return all;
}

}  // namespace hwprof::blas
