#include "src/commands/check/host_facts.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "counters/events/event_table.h"
#include "src/base/clock.h"
#include "src/base/text.h"

namespace hwprof {
namespace {

constexpr std::size_t kLongestRunId = 64;

bool is_name(std::string_view text, std::size_t longest) {
  const auto plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0;
  };
  return !text.empty() && text.size() <= longest && plain(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char letter) {
           return plain(letter) || letter == '.' || letter == '_' || letter == '-';
         });
}

Result<std::string> name_in(std::string_view option, std::string_view text, std::size_t longest) {
  if (is_name(text, longest)) return std::string(text);
  return usage_error(
      fmt::format("{}: '{}' does not do as part of the name of a file", option, text),
      fmt::format("letters, digits, '.', '_' and '-', {} at most, the first a letter or digit",
                  longest));
}

// Of this process and of the children that have ended.
double own_cpu_s() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return seconds;
}

// Of the text of /proc/cpuinfo, the first CPU's.
std::string microcode_in(std::string_view cpuinfo) {
  for (const std::string_view line : split(cpuinfo, '\n')) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("microcode") && colon != std::string_view::npos)
      return std::string(trim(line.substr(colon + 1)));
  }
  return {};
}

}  // namespace

Result<std::string> run_id_in(std::string_view option, std::string_view text) {
  return name_in(option, text, kLongestRunId);
}

Result<std::string> host_in(std::string_view option, std::string_view text) {
  return name_in(option, text, kLongestHost);
}

Result<std::string> this_host() {
  // Several nodes of a cluster may be one machine, and a node may have another name than its
  // machine.
  if (const char* node = std::getenv("SLURMD_NODENAME");
      node != nullptr && is_name(node, kLongestHost))
    return std::string(node);
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || !is_name(name.data(), kLongestHost)) {
    return environment_error(
        0, fmt::format("this host's name, '{}', does not do as the name of a file", name.data()),
        "--host NAME gives it another one");
  }
  return std::string(name.data());
}

std::string record_name(const std::string& host, const std::string& run_id) {
  // '@' is in neither of them.
  return fmt::format("{}@{}.json", host, run_id);
}

void add_host_facts(unsigned cpu, report::Check& check) {
  const CpuId& id = check.machine.id;
  check.cpu_id = fmt::format("{}/{}", format_cpu_id(id), id.stepping);
  if (const auto boot = read_text_file("/proc/sys/kernel/random/boot_id"))
    check.boot_id = trim(*boot);
  else
    check.boot_id_reason = "/proc/sys/kernel/random/boot_id cannot be read";
  check.microcode = microcode_in(read_text_file("/proc/cpuinfo").value_or(""));
  if (check.microcode.empty()) {
    const auto version =
        read_text_file(fmt::format("/sys/devices/system/cpu/cpu{}/microcode/version", cpu));
    if (version) check.microcode = trim(*version);
  }
  if (check.microcode.empty())
    check.microcode_reason = "the kernel tells it neither in /proc/cpuinfo nor in /sys";
}

OthersOnCpus::OthersOnCpus(CpuList cpus)
    : cpus_(cpus.size()), begin_ns_(wall_ns()), own_s_(own_cpu_s()), busy_(std::move(cpus)) {}

std::optional<double> OthersOnCpus::fraction() const {
  const auto busy = busy_.ticks();
  if (!busy) return std::nullopt;
  return fraction_of_others(*busy, own_cpu_s() - own_s_, (wall_ns() - begin_ns_) * 1e-9, cpus_);
}

std::optional<double> fraction_of_others(std::uint64_t busy_ticks, double own_s, double elapsed_s,
                                         std::size_t cpus) {
  constexpr double kLeastTicks = 10;  // fewer say nothing
  const double all_s = elapsed_s * static_cast<double>(cpus);
  if (all_s * kTicksPerSecond < kLeastTicks) return std::nullopt;
  const double others_s = static_cast<double>(busy_ticks) / kTicksPerSecond - own_s;
  return std::clamp(others_s / all_s, 0.0, 1.0);
}

}  // namespace hwprof
