#include "counters/machine/affinity.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "src/base/text.h"

namespace hwprof {
namespace {

constexpr unsigned kMaxCpu = 8191;  // CONFIG_NR_CPUS is at most 8192
constexpr const char* kSysCpu = "/sys/devices/system/cpu/";

// A mask as large as the kernel wants it: with more than 1024 possible CPUs, a plain cpu_set_t is
// refused with EINVAL (sched_setaffinity(2), NOTES).
class CpuMask {
 public:
  explicit CpuMask(unsigned cpus)
      : set_(CPU_ALLOC(cpus), [](cpu_set_t* set) { CPU_FREE(set); }), bytes_(CPU_ALLOC_SIZE(cpus)) {
    CPU_ZERO_S(bytes_, set_.get());
  }
  [[nodiscard]] cpu_set_t* get() const { return set_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_;
  std::size_t bytes_;
};

int set_affinity(const CpuList& cpus) {
  const CpuMask mask(kMaxCpu + 1);
  for (unsigned cpu : cpus) CPU_SET_S(cpu, mask.bytes(), mask.get());
  return sched_setaffinity(0, mask.bytes(), mask.get()) == 0 ? 0 : errno;
}

// Absent where /sys is not mounted: then the kernel alone judges.
std::optional<CpuList> sys_cpu_list(const char* name) {
  const auto text = read_text_file(std::string(kSysCpu) + name);
  if (!text) return std::nullopt;
  auto list = parse_cpu_list(trim(*text));
  if (!list) return std::nullopt;
  return *std::move(list);
}

bool contains(const CpuList& list, unsigned cpu) {
  return std::binary_search(list.begin(), list.end(), cpu);
}

}  // namespace

Result<CpuList> parse_cpu_list(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return usage_error(fmt::format("CPU list '{}': {}", text, why),
                       "write numbers and ranges, as in 0,2-3");
  };
  if (text.empty()) return bad("it is empty");
  CpuList cpus;
  for (std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_unsigned(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_unsigned(part.substr(dash + 1));
    if (!first || !last) return bad(fmt::format("'{}' is neither a number nor a range", part));
    if (*first > *last) return bad(fmt::format("the range '{}' runs backwards", part));
    if (*last > kMaxCpu)
      return bad(fmt::format("no Linux machine has a CPU {} (the last is {})", *last, kMaxCpu));
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu)
      cpus.push_back(static_cast<unsigned>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpu_list(const CpuList& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[end]);
    i = end + 1;
  }
  return text;
}

CpuList allowed_cpus() {
  const CpuMask mask(kMaxCpu + 1);
  CpuList cpus;
  if (sched_getaffinity(0, mask.bytes(), mask.get()) != 0) return cpus;
  for (unsigned cpu = 0; cpu <= kMaxCpu; ++cpu)
    if (CPU_ISSET_S(cpu, mask.bytes(), mask.get())) cpus.push_back(cpu);
  return cpus;
}

std::optional<CpuList> online_cpus() { return sys_cpu_list("online"); }

Result<void> pin_to(const CpuList& cpus) {
  if (cpus.empty()) return usage_error("cannot pin to an empty CPU list");
  const auto present = sys_cpu_list("present");
  const auto online = online_cpus();
  for (unsigned cpu : cpus) {
    if (present && !contains(*present, cpu))
      return usage_error(fmt::format("CPU {} does not exist", cpu),
                         fmt::format("this machine has CPUs {}", format_cpu_list(*present)));
    if (online && !contains(*online, cpu))
      return usage_error(fmt::format("CPU {} is offline", cpu),
                         fmt::format("online are {}; to bring it up: echo 1 > {}cpu{}/online",
                                     format_cpu_list(*online), kSysCpu, cpu));
  }
  const CpuList before = allowed_cpus();
  const int code = set_affinity(cpus);
  if (code != 0 && code != EINVAL)
    return environment_error(
        code, fmt::format("cannot pin to CPUs {}: {}", format_cpu_list(cpus), std::strerror(code)));
  // The kernel quietly drops what the cpuset forbids, and says EINVAL only when nothing is left.
  const CpuList now = code == 0 ? allowed_cpus() : CpuList{};
  for (unsigned cpu : cpus)
    if (!contains(now, cpu)) {
      if (code == 0) set_affinity(before);
      return usage_error(fmt::format("the cpuset of this process forbids CPU {}", cpu),
                         fmt::format("allowed are {}", format_cpu_list(before)));
    }
  if (const unsigned cpu = current_cpu(); !contains(cpus, cpu))
    return environment_error(
        0, fmt::format("pinned to CPUs {}, but running on CPU {}", format_cpu_list(cpus), cpu));
  return {};
}

unsigned current_cpu() {
  const int cpu = sched_getcpu();
  return cpu < 0 ? 0 : static_cast<unsigned>(cpu);
}

}  // namespace hwprof
