// The sentence on page faults: what they cost, who meets them, and what to do.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/format.h"
#include "src/blas/judge/judge_run.h"
#include "src/blas/judge/words.h"
#include "src/measure/statistics.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::blas {
namespace {

using report::SampleShare;

constexpr double kNotableFaultShare = 0.05;  // of the CPU time, at least
// What one page fault takes. Outside, the kernel did something else at these instructions: a fault
// is no less than an exception and its return, and 2 MiB are cleared in a fraction of a
// millisecond.
constexpr double kQuickestNs = 50, kSlowestNs = 1e6;
// Of the memory held at once, from which on memory was certainly touched more than once.
constexpr double kTouchedAgain = 2;
// The C library keeps what is freed, however large, instead of giving it back with each free()
// (mallopt(3): M_MMAP_MAX, M_TRIM_THRESHOLD; the manual, "Memory Allocation Tunables").
constexpr std::string_view kKeepsMemory =
    "GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184";

// System calls, as the C library's symbols name them, that give memory back.
bool gives_back(const SampleShare& share) {
  constexpr std::string_view kCalls[] = {"munmap", "madvise", "brk", "mremap"};
  return share.library == observe::kKernelCode &&
         std::any_of(std::begin(kCalls), std::end(kCalls), [&](std::string_view call) {
           return share.name == call || share.name == fmt::format("__{}", call);
         });
}

std::string who_meets(const report::Executed& executed, double all) {
  const auto most = std::find_if(  // most samples first
      executed.by_symbol.begin(), executed.by_symbol.end(),
      [](const SampleShare& share) { return share.library == observe::kFaultCode; });
  if (most == executed.by_symbol.end() || most->fraction < all / 2) return "";
  return fmt::format(", most in {}", most->name);
}

}  // namespace

double fault_share(const report::Executed& executed) {
  for (const SampleShare& share : executed.by_library)
    if (share.name == observe::kFaultCode) return share.fraction;
  return 0;
}

std::string fault_finding(const RunEvidence& run) {
  const report::Executed& executed = run.evidence.executed;
  const double share = fault_share(executed);
  const auto samples = static_cast<double>(executed.samples);
  if (share_interval(share * samples, samples).low < kNotableFaultShare) return "";
  if (run.memory.faults.value_or(0) <= 0 || executed.frequency_hz <= 0) return "";
  const double faults = *run.memory.faults;
  const double each_ns = share * samples / executed.frequency_hz * 1e9 / faults;
  if (each_ns < kQuickestNs || each_ns > kSlowestNs) return "";

  std::string text =
      fmt::format("Page faults take {:.0f} % of the CPU time: {}, {} each{}", 100 * share,
                  report::si(faults, ""), report::duration(each_ns), who_meets(executed, share));
  double given_back = 0;
  for (const SampleShare& one : executed.by_symbol)
    if (gives_back(one)) given_back += one.fraction;
  if (given_back > 0) text += fmt::format(", and giving memory back {:.2g} %", 100 * given_back);
  const double touched = faults * run.memory.page_bytes, held = run.memory.peak_bytes.value_or(0);
  if (given_back > 0 && held > 0 && touched >= kTouchedAgain * held) {
    text += fmt::format(
        ". At least {} were touched, and no process held more than {}: the same memory is given "
        "back and taken anew",
        report::binary_bytes(touched), report::binary_bytes(held));
  }
  text += ". Keep arrays and write into them again (numpy: out=)";
  if (given_back > 0) {
    text += fmt::format(
        ", or let the C library keep what is freed; what that gains: hwprof run --try {} -- "
        "COMMAND",
        kKeepsMemory);
  }
  text += ".";
  if (const std::string pages =
          run.memory.large != nullptr ? huge_page_words(*run.memory.large) : "";
      !pages.empty())
    text += fmt::format(" {}.", pages);
  return text;
}

}  // namespace hwprof::blas
