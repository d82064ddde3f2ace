#include "src/blas/judge/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/blas/judge/joined.h"

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

std::string class_width(const std::string& vector_class) {
  if (vector_class == "avx512") return "512-bit FMA";
  if (vector_class == "avx2") return "256-bit FMA";
  if (vector_class == "avx") return "256-bit without FMA";
  if (vector_class == "sse") return "128-bit without FMA";
  if (vector_class == "neon") return "128-bit FMA";
  if (vector_class == "sve") return "SVE";
  return vector_class == "scalar" ? "scalar code" : "";
}

std::string count_of_calls(std::uint64_t count) {
  return count == 1 ? "1 call" : fmt::format("{} calls", count);
}

bool is_of(const std::string& path, const std::string& provider,
           const report::BlasEvidence& evidence) {
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

std::string served_by(const Served& served) {
  const std::string width = width_of(served);
  std::string text = kernels_of(served);
  if (!width.empty()) text += fmt::format(" ({})", width);
  if (const auto threads = threads_of(served)) {
    text += fmt::format(" on {} {}", *threads, *threads == 1 ? "thread" : "threads");
  }
  return text;
}

// What happened in the BLAS that served.
void add_served(const RunVerdictInput& input, const Served& served, const std::string& loss,
                std::vector<std::string>& all) {
  const report::BlasEvidence& evidence = input.evidence;
  std::vector<std::string> own, foreign;
  double most_flops = 0;
  for (const report::CallSite& site : evidence.called.calls) {
    most_flops = std::max(most_flops, site.flops.value_or(0));
  }
  for (const report::CallSite& site : evidence.called.calls) {
    if (site.flops && *site.flops < kNotableFlops * most_flops) continue;
    if (is_of(site.library, "onednn", evidence)) continue;  // said with the share of the time
    const bool is_own = served.provider == "unknown" || site.library == served.path ||
                        is_of(site.library, served.provider, evidence);
    if (is_own && own.size() < kMostCallSites) own.push_back(calls_of(site));
    if (!is_own && foreign.size() < kMostCallSites) {
      foreign.push_back(fmt::format("{}, served by {}.", calls_of(site), file_label(site.library)));
    }
  }
  std::string sentence;
  if (!own.empty()) {
    sentence = fmt::format("{}, served by {}", joined(own, " and "), served_by(served));
  } else {
    sentence =
        fmt::format("{} of the time is in {}", percent(served.blas_share), served_by(served));
    if (evidence.called.how != "none") {
      sentence += "; no call into it was seen: it is linked statically, or calls itself (LAPACK)";
    }
  }
  if (!loss.empty()) sentence += "; " + loss;
  all.push_back(sentence + ".");
  all.insert(all.end(), foreign.begin(), foreign.end());
}

void add_other(const Served& served, bool no_call, std::vector<std::string>& all) {
  const std::string what = with_width(served.other, width_of_loops(served.other_loops), ", ");
  all.push_back(no_call ? fmt::format("No BLAS call: {} of the time is {}.",
                                      percent(served.other_share), what)
                        : fmt::format("{} of the time made no BLAS call: it is {}.",
                                      percent(served.other_share), what));
}

void add_nothing_called(const RunVerdictInput& input, const Served& served,
                        std::vector<std::string>& all) {
  const report::BlasEvidence& evidence = input.evidence;
  const report::Executed& executed = evidence.executed;
  std::string sentence =
      evidence.called.how == "none" ? "No time in a BLAS" : "No BLAS call that does work";
  if (evidence.called.calls.empty() && evidence.called.how != "none") sentence = "No BLAS call";
  if (served.sampled && !executed.loops.empty()) {
    const report::LibraryLoops& hottest = executed.loops.front();
    sentence +=
        fmt::format(": {} of the time is {}", percent(hottest.fraction),
                    with_width(file_label(hottest.library), width_of_loops(&hottest), ", "));
  }
  all.push_back(sentence + ".");
  for (const report::CallSite& site : evidence.called.calls) {
    if (is_of(site.library, "onednn", evidence)) continue;
    all.push_back(fmt::format("{}, served by {}, is too little to matter.", calls_of(site),
                              file_label(site.library)));
    break;
  }
}

// A tool that lists what is loaded would name these.
void add_only_loaded(const report::BlasEvidence& evidence, const Served& served,
                     std::vector<std::string>& all) {
  std::vector<std::string> idle;
  for (const report::LoadedLibrary& library : evidence.loaded) {
    if (library.serves_blas && library.provider != served.provider &&
        library.provider != "onednn") {
      idle.push_back(fmt::format("{} ({})", file_label(library.path), library.provider));
    }
  }
  std::sort(idle.begin(), idle.end());
  idle.erase(std::unique(idle.begin(), idle.end()), idle.end());
  if (!idle.empty()) {
    all.push_back(fmt::format("{} {} loaded too, and did not do this work.", joined(idle, ", "),
                              idle.size() == 1 ? "is" : "are"));
  }
}

}  // namespace

std::string width_of(const Served& served) {
  std::string width = width_of_loops(served.loops);
  if (width.empty() && served.core != nullptr) width = class_width(served.core->vector_class);
  return width;
}

std::string kernels_of(const Served& served) {
  const std::string core = served.core != nullptr ? served.core->core : "";
  const std::string kernels = core.empty() ? "" : " " + core + " kernels";
  if (served.provider == "openblas") return "libopenblas" + kernels;
  if (served.provider == "reference") return "the reference BLAS";
  if (served.provider == "blis") return "BLIS" + kernels;
  if (served.provider == "mkl") return "MKL" + kernels;
  if (served.provider == "atlas") return "ATLAS";
  if (served.provider == "unknown") return file_label(served.path);
  return served.provider + kernels;
}

std::optional<int> threads_of(const Served& served) {
  if (served.loops != nullptr) return served.loops->threads;
  return served.core != nullptr ? served.core->threads : std::nullopt;
}

std::vector<std::string> findings(const RunVerdictInput& input, const Served& served,
                                  const std::string& loss, const RunThresholds& thresholds) {
  std::vector<std::string> all;
  const bool blas = !served.provider.empty();
  const bool other = served.other_share >= thresholds.notable_share;
  // What took more of the time comes first.
  const bool other_first = other && blas && served.blas_share < thresholds.negligible_share;
  if (other_first) add_other(served, false, all);
  if (blas) add_served(input, served, loss, all);
  if (other && !other_first) add_other(served, !blas, all);
  if (!blas && !other) add_nothing_called(input, served, all);
  add_only_loaded(input.evidence, served, all);
  return all;
}

}  // namespace hwprof::blas
