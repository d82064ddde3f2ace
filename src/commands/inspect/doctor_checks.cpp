#include "src/commands/inspect/doctor_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/base/text.h"
#include "src/blas/providers/cpu_support.h"
#include "src/blas/providers/providers.h"

namespace hwprof {
namespace {

using report::Finding;
using report::State;

Finding good(std::string finding) { return {"", State::kGood, std::move(finding), "", ""}; }
Finding mend(std::string finding, std::string consequence, std::string remedy) {
  return {"", State::kMend, std::move(finding), std::move(consequence), std::move(remedy)};
}
Finding note(std::string finding, std::string consequence = {}, std::string remedy = {}) {
  return {"", State::kNote, std::move(finding), std::move(consequence), std::move(remedy)};
}
Finding unknown(std::string finding, std::string consequence = {}) {
  return {"", State::kUnknown, std::move(finding), std::move(consequence), ""};
}

constexpr const char* kNoPmu = "there is no PMU, so nothing depends on it";

const EventCount* tried(const DoctorFacts& facts, std::string_view name) {
  const auto found = std::find_if(facts.tried.begin(), facts.tried.end(),
                                  [name](const EventCount& count) { return count.name == name; });
  return found == facts.tried.end() ? nullptr : &*found;
}

bool counts(const DoctorFacts& facts, std::string_view name) {
  const EventCount* count = tried(facts, name);
  return count != nullptr && count->value.has_value();
}

Finding check_pmu(const DoctorFacts& facts) {
  const PmuInfo& pmu = facts.machine.pmu;
  if (pmu.present()) {
    std::vector<std::string> names;
    for (const PmuDevice& device : pmu.devices) names.push_back(device.name);
    return good(join(names));
  }
  const char* consequence =
      "Cycles, instructions, FLOPs and cache misses cannot be counted. Times, GFLOP/s "
      "against the measured peak, the BLAS verdict and software events (task-clock, "
      "page-faults) still work.";
  if (facts.machine.virtualized) {
    // Nothing that is wrong with this machine: its host decides.
    return note(
        fmt::format("none: a virtual machine{} that hands no PMU on",
                    facts.machine.hypervisor.empty() ? "" : " under " + facts.machine.hypervisor),
        consequence,
        "on the host: qemu-system -cpu host,pmu=on; in a cloud: a bare-metal instance");
  }
  return mend("none: " + pmu.reason, consequence, "dmesg | grep -i 'performance events'");
}

Finding check_counting(const DoctorFacts& facts) {
  if (!facts.machine.pmu.present())
    return unknown("cycles and instructions: " + std::string(kNoPmu));
  for (const char* name : {"cycles", "instructions", "branches"}) {
    const EventCount* count = tried(facts, name);
    if (count == nullptr || count->value) continue;
    return mend(fmt::format("{} did not count ({})", name, to_string(count->status)), count->reason,
                count->status == CountStatus::kDenied ? "sudo sysctl kernel.perf_event_paranoid=1"
                                                      : fmt::format("hwprof events {}", name));
  }
  return good("cycles, instructions and branches were tried and count");
}

Finding check_counters(const DoctorFacts& facts) {
  const PmuInfo& pmu = facts.machine.pmu;
  if (!pmu.present()) return unknown("free counters: " + std::string(kNoPmu));
  if (!pmu.counters) return unknown("how many are free: " + pmu.reason);
  const std::string found = fmt::format("{} free for one group", *pmu.counters);
  if (*pmu.counters >= kDoctorThresholds.few_counters) return good(found);
  return note(found, "The work is repeated more often, to count the same events.",
              "sudo ls -l /proc/*/fd 2>/dev/null | grep perf_event");
}

Finding check_paranoid(const DoctorFacts& facts) {
  const auto level = facts.machine.perf_event_paranoid;
  if (!level) {
    return mend("no kernel.perf_event_paranoid: a kernel without perf_event, or /proc hides it",
                "Nothing can be counted; times still work.",
                "zgrep CONFIG_PERF_EVENTS /proc/config.gz /boot/config-$(uname -r)");
  }
  constexpr int kSelf = 2, kKernel = 1;
  const std::string found = fmt::format("kernel.perf_event_paranoid is {}", *level);
  if (facts.cap_perfmon) return good(found + ", and this user may count anyway");
  if (*level > kSelf) {
    return mend(found, "Ordinary users may not count even their own programs.",
                "sudo sysctl kernel.perf_event_paranoid=1");
  }
  if (*level > kKernel) {
    return note(found,
                "The kernel's share is left out, and context switches and migrations "
                "cannot be counted.",
                "sudo sysctl kernel.perf_event_paranoid=1");
  }
  return good(found);
}

Finding check_capabilities(const DoctorFacts& facts) {
  if (facts.cap_perfmon) {
    return good(facts.root ? "root with CAP_PERFMON or CAP_SYS_ADMIN"
                           : "CAP_PERFMON or CAP_SYS_ADMIN is held");
  }
  return note(
      fmt::format("{} CAP_PERFMON", facts.root ? "root without" : "an ordinary user without"),
      "kernel.perf_event_paranoid decides what may be counted.",
      facts.root ? "in a container: --cap-add PERFMON"
                 : "sudo setcap cap_perfmon+ep \"$(readlink -f \"$(command -v hwprof)\")\"");
}

Finding check_sandbox(const DoctorFacts& facts) {
  constexpr int kFilter = 2, kSelf = 2;
  const bool filtered = facts.seccomp.value_or(0) == kFilter;
  const std::string where = facts.container.empty()
                                ? std::string(filtered ? "a seccomp filter" : "no container")
                                : fmt::format("a container ({})", facts.container);
  const EventCount* clock = tried(facts, "task-clock");
  const bool level_allows =
      facts.cap_perfmon || facts.machine.perf_event_paranoid.value_or(kSelf + 1) <= kSelf;
  if (clock != nullptr && clock->status == CountStatus::kDenied && level_allows) {
    return mend(
        where +
            ": perf_event_open is refused, although the paranoid level or a capability allows it",
        "Nothing can be counted; times still work.",
        "docker run --cap-add PERFMON --security-opt seccomp=unconfined ...");
  }
  if (counts(facts, "task-clock")) {
    return good(facts.container.empty() && !filtered ? "no container, no seccomp filter"
                                                     : where + ", which lets perf_event_open pass");
  }
  return unknown(where + "; whether it lets perf_event_open pass was not seen");
}

Finding check_watchdog(const DoctorFacts& facts) {
  if (!facts.machine.nmi_watchdog) return good("this kernel has none");
  if (!*facts.machine.nmi_watchdog) return good("off");
  if (!facts.machine.pmu.present()) return note(fmt::format("on, but {}", kNoPmu));
  return mend("on", "It holds one counter of every CPU all the time.",
              "sudo sysctl kernel.nmi_watchdog=0");
}

Finding check_userspace_reads(const DoctorFacts& facts) {
  if (!facts.machine.pmu.present()) return unknown(fmt::format("not applicable: {}", kNoPmu));
  if (!facts.userspace_reads) return unknown("the kernel does not say whether they are allowed");
  if (*facts.userspace_reads > 0) return good("allowed");
  const bool arm = facts.machine.arch == "aarch64";
  return mend("switched off",
              "Reading a counter costs a system call, about 1 us an edge of a region.",
              arm ? "sudo sysctl kernel.perf_user_access=1"
                  : fmt::format("echo 1 | sudo tee /sys/bus/event_source/devices/{}/rdpmc",
                                facts.machine.pmu.devices.front().name));
}

Finding check_libpfm(const DoctorFacts& facts) {
  if (facts.libpfm_knows) return good(facts.libpfm + " knows this CPU");
  const std::string found = facts.libpfm + " does not know this CPU's PMU";
  if (facts.core.empty()) {
    return note(found + ", and hwprof's own table does not have the CPU either",
                "Generic events (cycles, instructions) and raw encodings can be asked for.",
                "hwprof events");
  }
  return note(found,
              fmt::format("Portable names come from hwprof's own table ({}); other events need "
                          "raw encodings.",
                          facts.core),
              "hwprof events");
}

Finding check_governor(const DoctorFacts& facts) {
  if (facts.governors.empty()) {
    return unknown("no cpufreq here",
                   facts.machine.virtualized
                       ? "The host sets the clock; hwprof measures the peak beside the work."
                       : "The firmware may set the clock.");
  }
  const std::string found = fmt::format(
      "{}{}", join(facts.governors),
      facts.frequency_driver.empty() ? "" : fmt::format(" ({})", facts.frequency_driver));
  const auto all_are = [&](std::initializer_list<std::string_view> names) {
    return std::all_of(facts.governors.begin(), facts.governors.end(), [&](const auto& governor) {
      return std::find(names.begin(), names.end(), governor) != names.end();
    });
  };
  if (all_are({"performance"})) return good(found);
  const std::string remedy =
      "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
  // Their "powersave" still raises the clock under load.
  const bool own_way =
      facts.frequency_driver == "intel_pstate" || facts.frequency_driver.starts_with("amd-pstate");
  if (own_way || all_are({"performance", "ondemand", "schedutil"})) {
    return note(found, "The clock rises only after work has begun; short runs are slower.", remedy);
  }
  return mend(found, "The clock stays low or as it was set: times are longer than they need be.",
              remedy);
}

Finding check_turbo(const DoctorFacts& facts) {
  if (!facts.turbo) {
    return unknown("not visible", facts.machine.virtualized
                                      ? "The host decides; the clock may drift while measuring."
                                      : "");
  }
  if (!*facts.turbo) return good("off: the clock is steady");
  return note("on",
              "The clock depends on heat and on how many cores are busy; times drift, the "
              "percentages of the peak do not.",
              facts.frequency_driver == "intel_pstate"
                  ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
                  : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost");
}

Finding check_smt(const DoctorFacts& facts) {
  if (facts.siblings.empty()) return unknown("the kernel does not show which CPUs share a core");
  CpuList busy, shared;
  bool any = false;
  for (const auto& [cpu, others] : facts.siblings) {
    for (const unsigned other : others) {
      any = true;
      const auto use = facts.use.find(other);
      if (use != facts.use.end() && use->second.busy > kDoctorThresholds.busy) {
        busy.push_back(other);
      }
      if (std::find(facts.cpus.begin(), facts.cpus.end(), other) != facts.cpus.end()) {
        shared.push_back(other);
      }
    }
  }
  if (!any) {
    return facts.machine.virtualized ? good("no two CPUs share a core, as the hypervisor shows it")
                                     : good("no two CPUs share a core");
  }
  std::sort(busy.begin(), busy.end());
  if (!busy.empty()) {
    return mend(
        fmt::format("the sibling hyper-thread is busy: CPU {}", format_cpu_list(busy)),
        "Two threads share the core's FMA units and caches: times grow by up to 2.",
        fmt::format("echo 0 | sudo tee /sys/devices/system/cpu/cpu{}/online", busy.front()));
  }
  if (!shared.empty()) {
    CpuList one_each;
    for (const auto& [cpu, others] : facts.siblings) {
      if (std::none_of(others.begin(), others.end(),
                       [cpu = cpu](unsigned other) { return other < cpu; })) {
        one_each.push_back(cpu);
      }
    }
    return note("the CPUs in use share cores; the siblings are idle now",
                "A thread on each shares its core's FMA units with another.",
                "hwprof --pin " + format_cpu_list(one_each));
  }
  return good("siblings are idle");
}

Finding check_load(const DoctorFacts& facts) {
  std::vector<std::string> busy;
  double least = 1;
  unsigned quietest = facts.cpus.empty() ? 0 : facts.cpus.front();
  bool seen = false;
  for (const unsigned cpu : facts.cpus) {
    const auto use = facts.use.find(cpu);
    if (use == facts.use.end()) continue;
    seen = true;
    if (use->second.busy < least) {
      least = use->second.busy;
      quietest = cpu;
    }
    if (use->second.busy > kDoctorThresholds.busy) {
      busy.push_back(fmt::format("CPU {} {}", cpu, report::percent(use->second.busy)));
    }
  }
  if (!seen) return unknown("/proc/stat does not say how busy the CPUs are");
  if (busy.empty()) return good("the CPUs are quiet");
  const bool elsewhere = least <= kDoctorThresholds.busy;
  return mend(fmt::format("other programs use {}", join(busy)),
              "They take the CPU and its caches: times are too long and spread.",
              elsewhere ? fmt::format("hwprof --pin {}", quietest)
                        : "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head");
}

Finding check_steal(const DoctorFacts& facts) {
  if (!facts.machine.virtualized) return good("not a virtual machine");
  double most = 0;
  bool seen = false;
  for (const unsigned cpu : facts.cpus) {
    const auto use = facts.use.find(cpu);
    if (use == facts.use.end()) continue;
    seen = true;
    most = std::max(most, use->second.steal);
  }
  if (!seen) return unknown("/proc/stat does not say what the host took");
  if (most <= kDoctorThresholds.steal_note) return good("the host took no time away just now");
  const std::string found = fmt::format("the host took {} of a CPU's time", report::percent(most));
  const std::string consequence = "Times hold what the host ran meanwhile.";
  if (most <= kDoctorThresholds.steal_mend) return note(found, consequence);
  return mend(found, consequence,
              "vmstat 1   (column st; measure when it is 0, or on a dedicated host)");
}

Finding check_cpu(const DoctorFacts& facts) {
  const std::string odd = blas::odd_about(blas::visible_cpu(facts.machine));
  if (odd.empty()) return good("nothing odd about what it shows of itself");
  return note(odd, "A BLAS and a compiler's -march=native choose their kernels by what is shown.",
              facts.machine.virtualized
                  ? "on the host, give the guest its CPU: qemu -cpu host, or libvirt's "
                    "<cpu mode='host-passthrough'/>"
                  : "look for the setting in the firmware, and for clearcpuid= in /proc/cmdline");
}

Finding check_cpuset(const DoctorFacts& facts) {
  if (facts.online.empty()) return unknown("the kernel does not list its CPUs");
  const std::string found =
      fmt::format("CPUs {} of {}", format_cpu_list(facts.cpus), format_cpu_list(facts.online));
  if (facts.cpus.size() >= facts.online.size())
    return good("all of " + format_cpu_list(facts.online));
  return note(found,
              "An affinity mask or a cpuset leaves the others out; a BLAS starts as many "
              "threads as it may use CPUs.",
              fmt::format("taskset -c {} hwprof", format_cpu_list(facts.online)));
}

Finding check_descriptors(const DoctorFacts& facts) {
  // A counter for each thread: hwprof's team and the BLAS's.
  const std::uint64_t need = kDoctorThresholds.descriptors_besides +
                             2 * facts.cpus.size() * kDoctorThresholds.descriptors_a_thread;
  const std::string found = fmt::format("{} may be open", facts.descriptors);
  if (facts.descriptors >= need) return good(found);
  return mend(fmt::format("{}, {} may be needed", found, need),
              "Counting many events on every thread runs out of descriptors.",
              facts.most_descriptors >= need
                  ? fmt::format("ulimit -n {}", need)
                  : fmt::format("as root: prlimit --pid $$ --nofile={0}:{0}", need));
}

Finding check_environment(const DoctorFacts& facts) {
  if (facts.environment.empty()) return good("no variable that shapes a BLAS is set");
  std::vector<std::string> all, forcing;
  for (const auto& [name, value] : facts.environment) {
    all.push_back(fmt::format("{}={}", name, value));
    const bool read =
        !facts.blas || std::find(facts.blas->ignored.begin(), facts.blas->ignored.end(), name) ==
                           facts.blas->ignored.end();
    if (blas::forces_core(name) && read) forcing.push_back(name);
  }
  if (!forcing.empty()) {
    return mend(
        join(all),
        fmt::format("{} forces a core type: the BLAS does not choose by the CPU.", join(forcing)),
        fmt::format("unset {}", fmt::join(forcing, " ")));
  }
  std::string consequence = "Programs started from here get these settings.";
  if (facts.blas && !facts.blas->ignored.empty()) {
    consequence += fmt::format(" The BLAS does not read {}.", join(facts.blas->ignored));
  }
  std::string unset = "unset";
  for (const auto& [name, value] : facts.environment) unset += " " + name;
  return note(join(all), consequence, unset);
}

Finding check_blas(const DoctorFacts& facts) {
  const report::ProfileBlas& judged = facts.judged;
  if (!facts.blas) {
    return mend("programs get none: " + facts.blas_error,
                "Products run as plain loops, or not at all.", blas::install_advice());
  }
  std::string found = fmt::format("programs get {}", to_text(judged.provider));
  if (!judged.version.empty()) found += " " + judged.version;
  if (!judged.core.empty()) found += fmt::format(", core type {}", judged.core);
  found += fmt::format(" ({})", judged.path);
  switch (judged.verdict) {
    case report::VerdictKind::kOptimal:
      return good(found);
    case report::VerdictKind::kBorderline:
    case report::VerdictKind::kInconclusive:
      return note(found, judged.why, judged.fix);
    default:
      // Where nothing here is faster there is nothing to be run.
      return judged.fix.empty() ? note(found, judged.why) : mend(found, judged.why, judged.fix);
  }
}

struct Check {
  const char* name;
  Finding (*judge)(const DoctorFacts& facts);
};

// From what cannot be done without to what can be lived with.
constexpr Check kChecks[] = {{"pmu", check_pmu},
                             {"counting", check_counting},
                             {"counters", check_counters},
                             {"paranoid", check_paranoid},
                             {"capabilities", check_capabilities},
                             {"sandbox", check_sandbox},
                             {"nmi-watchdog", check_watchdog},
                             {"userspace-reads", check_userspace_reads},
                             {"libpfm4", check_libpfm},
                             {"cpu", check_cpu},
                             {"blas", check_blas},
                             {"environment", check_environment},
                             {"load", check_load},
                             {"steal", check_steal},
                             {"smt", check_smt},
                             {"governor", check_governor},
                             {"turbo", check_turbo},
                             {"cpuset", check_cpuset},
                             {"descriptors", check_descriptors}};

}  // namespace

std::vector<Finding> examine(const DoctorFacts& facts) {
  std::vector<Finding> findings;
  for (const Check& check : kChecks) {
    findings.push_back(check.judge(facts));
    findings.back().name = check.name;
  }
  return findings;
}

}  // namespace hwprof
