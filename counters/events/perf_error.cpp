#include "counters/events/perf_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "src/base/launch.h"

namespace hwprof {
namespace {

struct Meaning {
  int code;
  CountStatus status;
  const char* reason;
  const char* remedy;
};

// perf_event_open(2), ERRORS, and what was seen on Linux 6.1 and 6.18. EACCES, EPERM, EMFILE
// and ENOENT are judged by their context below.
constexpr Meaning kMeanings[] = {
    {EINVAL, CountStatus::kUnsupported, "the kernel refuses this encoding for a single thread",
     "an uncore event counts per package and needs root and a cpu-wide counter; else check the "
     "encoding"},
    {EOPNOTSUPP, CountStatus::kUnsupported, "this PMU does not support the event in this mode", ""},
    {ENFILE, CountStatus::kDenied, "the whole machine is out of file descriptors",
     "raise fs.file-max"},
    {ENOSPC, CountStatus::kUnsupported, "the PMU has no counter left for it",
     "end other programs that count"},
    {EBUSY, CountStatus::kDenied, "another program holds the PMU for itself",
     "find it with: ls -l /proc/*/fd | grep perf_event"},
    {ENODEV, CountStatus::kUnsupported, "the CPU lacks the feature that this event needs", ""},
    {ESRCH, CountStatus::kNotCounted, "the thread ended before it could be counted", ""},
    {E2BIG, CountStatus::kUnsupported, "the kernel is older than the attributes of this event", ""},
    {ENOSYS, CountStatus::kDenied,
     "perf_event_open is missing: a kernel without perf_event, or a seccomp profile that hides it",
     "in a container: --security-opt seccomp=unconfined, or allow perf_event_open"},
    {ENOMEM, CountStatus::kNotCounted, "the kernel has no memory for the counter", ""},
};

Refusal denied(const Machine& machine) {
  constexpr int kSelfAllowed = 2;  // kernel.perf_event_paranoid up to here allows user-only counts
  if (machine.perf_event_paranoid && *machine.perf_event_paranoid > kSelfAllowed)
    return {CountStatus::kDenied,
            fmt::format("kernel.perf_event_paranoid is {}, which keeps ordinary users from "
                        "counting even their own programs",
                        *machine.perf_event_paranoid),
            "as root: sysctl kernel.perf_event_paranoid=2"};
  return {CountStatus::kDenied,
          machine.perf_event_paranoid
              ? fmt::format("permission denied although kernel.perf_event_paranoid is {}: a "
                            "seccomp profile or a security module stands in the way",
                            *machine.perf_event_paranoid)
              : "permission denied: a seccomp profile or a security module stands in the way",
          "in a container: --cap-add PERFMON --security-opt seccomp=unconfined"};
}

}  // namespace

std::string to_text(const Refusal& refusal) {
  return refusal.remedy.empty() ? refusal.reason
                                : fmt::format("{}; {}", refusal.reason, refusal.remedy);
}

Refusal no_pmu(const Machine& machine) {
  Refusal refusal{CountStatus::kUnsupported, machine.pmu.reason, ""};
  if (refusal.reason.empty())
    refusal.reason = "this machine exposes no PMU; timing and software events continue";
  refusal.remedy =
      machine.virtualized
          ? "to count: run on the host, give the guest a virtual PMU (QEMU: -cpu host,pmu=on), or "
            "take a bare-metal instance"
          : "to count: look for 'Performance Events' in dmesg; the firmware or the kernel's "
            "command line may have switched the PMU off";
  return refusal;
}

Refusal explain_open_failure(const Machine& machine, int code, const std::string& event) {
  if (code == EACCES || code == EPERM) return denied(machine);
  if (code == EMFILE)
    return {CountStatus::kDenied, "no file descriptor is left", more_descriptors()};
  if (code == ENOENT) {
    if (!machine.pmu.present()) return no_pmu(machine);
    return {CountStatus::kUnsupported,
            fmt::format("the kernel's driver for this PMU has no {}", event),
            "see what it has: ls /sys/bus/event_source/devices/*/events"};
  }
  const auto found = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                  [&](const Meaning& meaning) { return meaning.code == code; });
  if (found == std::end(kMeanings))
    return {CountStatus::kUnsupported,
            fmt::format("perf_event_open failed: {}", std::strerror(code)), ""};
  return {found->status, found->reason, found->remedy};
}

}  // namespace hwprof
