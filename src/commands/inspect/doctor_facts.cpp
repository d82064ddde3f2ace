#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "counters/events/event_table.h"
#include "counters/events/pfm.h"
#include "counters/perf/counting.h"
#include "src/base/text.h"
#include "src/blas/evidence/installed.h"
#include "src/commands/inspect/doctor_checks.h"
#include "src/commands/loaded_blas.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCpuFolder = "/sys/devices/system/cpu/";
constexpr auto kWatched = std::chrono::milliseconds(250);

std::string file_line(const fs::path& path) {
  const auto text = read_text_file(path);
  return text ? std::string(trim(*text)) : std::string();
}

fs::path cpu_file(unsigned cpu, const char* name) {
  return fs::path(kCpuFolder) / ("cpu" + std::to_string(cpu)) / name;
}

std::map<unsigned, CpuTicks> ticks_now() {
  return parse_cpu_ticks(read_text_file("/proc/stat").value_or(""));
}

// Value of "CapEff:\t000..." in /proc/self/status.
std::string status_field(std::string_view name) {
  const std::string text = read_text_file("/proc/self/status").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
      return std::string(trim(line.substr(name.size() + 1)));
    }
  }
  return {};
}

void read_rights(DoctorFacts& facts) {
  constexpr unsigned kSysAdmin = 21, kPerfmon = 38;  // linux/capability.h
  facts.root = ::geteuid() == 0;
  const std::uint64_t held = parse_unsigned(status_field("CapEff"), 16).value_or(0);
  facts.cap_perfmon = ((held >> kSysAdmin) & 1) != 0 || ((held >> kPerfmon) & 1) != 0;
  facts.seccomp = parse_int(status_field("Seccomp"));
}

// As systemd-detect-virt looks for them: files of the runtimes, then the variable that they set.
std::string find_container() {
  std::error_code ignored;
  if (fs::exists("/run/.containerenv", ignored)) return "podman";
  if (fs::exists("/.dockerenv", ignored)) return "docker";
  const char* variable = std::getenv("container");
  return variable != nullptr ? variable : "";
}

void read_userspace_reads(DoctorFacts& facts) {
  const PmuDevice* device = facts.machine.pmu.for_cpu(facts.cpus.front());
  std::string text;
  if (device != nullptr) {
    text = file_line(fs::path("/sys/bus/event_source/devices") / device->name / "rdpmc");
  }
  if (text.empty()) text = file_line("/proc/sys/kernel/perf_user_access");
  facts.userspace_reads = parse_int(text);
}

void read_frequency(DoctorFacts& facts) {
  for (const unsigned cpu : facts.cpus) {
    std::string governor = file_line(cpu_file(cpu, "cpufreq/scaling_governor"));
    const auto& known = facts.governors;
    if (!governor.empty() && std::find(known.begin(), known.end(), governor) == known.end()) {
      facts.governors.push_back(std::move(governor));
    }
  }
  facts.frequency_driver = file_line(cpu_file(facts.cpus.front(), "cpufreq/scaling_driver"));
  const fs::path folder(kCpuFolder);
  if (const auto off = parse_int(file_line(folder / "intel_pstate/no_turbo"))) {
    facts.turbo = *off == 0;
  } else if (const auto on = parse_int(file_line(folder / "cpufreq/boost"))) {
    facts.turbo = *on != 0;
  }
}

void read_siblings(DoctorFacts& facts) {
  for (const unsigned cpu : facts.cpus) {
    auto list = parse_cpu_list(file_line(cpu_file(cpu, "topology/thread_siblings_list")));
    if (!list) continue;
    std::erase(*list, cpu);
    facts.siblings[cpu] = *std::move(list);
  }
}

// The verdict is that of `hwprof blas --quick`.
Result<void> read_blas(bool measure, DoctorFacts& facts) {
  constexpr double kLadderSeconds = 0.85;
  facts.environment = blas::blas_environment();
  TRY(const LoadedBlas loaded, load_blas("", static_cast<int>(facts.cpus.size())));
  facts.blas = loaded.identity;
  facts.blas_error = loaded.reason;
  facts.judged = judge_blas(
      loaded, facts.machine,
      {.requested = "", .ladder = measure, .ladder_seconds = kLadderSeconds, .cpus = facts.cpus});
  return {};
}

}  // namespace

std::map<unsigned, CpuTicks> parse_cpu_ticks(std::string_view stat) {
  std::map<unsigned, CpuTicks> cpus;
  for (const std::string_view line : split(stat, '\n')) {
    if (!line.starts_with("cpu")) continue;
    std::istringstream words{std::string(line.substr(3))};
    unsigned cpu = 0;
    // proc(5); guest time is in user time already.
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0,
                  steal = 0;
    if (line.size() < 4 || line[3] == ' ' ||
        !(words >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) {
      continue;
    }
    cpus[cpu] = {user + nice + system + irq + softirq, idle + iowait, steal};
  }
  return cpus;
}

std::map<unsigned, CpuUse> cpu_use(const std::map<unsigned, CpuTicks>& before,
                                   const std::map<unsigned, CpuTicks>& after) {
  // The kernel may take idle time back: never below zero.
  const auto grown = [](std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) : 0.0;
  };
  std::map<unsigned, CpuUse> use;
  for (const auto& [cpu, last] : after) {
    const auto first = before.find(cpu);
    if (first == before.end()) continue;
    const double busy = grown(first->second.busy, last.busy);
    const double steal = grown(first->second.steal, last.steal);
    const double all = busy + steal + grown(first->second.idle, last.idle);
    if (all > 0) use[cpu] = {busy / all, steal / all};
  }
  return use;
}

Result<DoctorFacts> gather_facts(bool measure_blas) {
  DoctorFacts facts;
  facts.cpus = allowed_cpus();
  const auto before = ticks_now();
  std::this_thread::sleep_for(kWatched);
  facts.use = cpu_use(before, ticks_now());

  const unsigned cpu = facts.cpus.front();
  if (auto online = parse_cpu_list(file_line(fs::path(kCpuFolder) / "online"))) {
    facts.online = *std::move(online);
  }
  // On a hybrid the counters can be tried from their own kind of core only.
  if (auto done = pin_to({cpu}); !done) return error_of(done);
  facts.machine = probe_machine(cpu);
  const std::vector<std::string> names(std::begin(kTriedEvents), std::end(kTriedEvents));
  auto tried = try_events(facts.machine, cpu, names);
  if (!tried) return error_of(tried);
  facts.tried = *std::move(tried);
  if (auto done = pin_to(facts.cpus); !done) return error_of(done);

  read_rights(facts);
  facts.container = find_container();
  read_userspace_reads(facts);
  facts.libpfm = pfm::version();
  facts.libpfm_knows = pfm::knows_this_cpu();
  const PmuDevice* device = facts.machine.pmu.for_cpu(cpu);
  const CoreRow* core = find_core(facts.machine.id, device == nullptr ? "" : device->name);
  if (core != nullptr) facts.core = core->name;
  read_frequency(facts);
  read_siblings(facts);
  if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.descriptors = limit.rlim_cur;
    facts.most_descriptors = limit.rlim_max;
  }
  if (auto done = read_blas(measure_blas, facts); !done) return error_of(done);
  return facts;
}

}  // namespace hwprof
