#include "src/measure/disturbance.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "src/base/text.h"
#include "src/observe/proc/cpu_columns.h"

namespace hwprof {
namespace {

// At most as much of a file of /proc as fits: its first lines.
template <std::size_t kBytes>
std::string read_again(const UniqueFd& file) {
  std::array<char, kBytes> text;
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size))};
}

using observe::kIdle, observe::kIoWait, observe::kSteal;

std::optional<std::uint64_t> sum_of_columns(const std::string& proc_stat, const CpuList& cpus,
                                            bool (*wanted)(std::size_t column)) {
  std::optional<std::uint64_t> sum;
  observe::each_cpu(proc_stat, [&](unsigned cpu, const auto& words) {
    if (words.size() <= kSteal || std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) return;
    for (std::size_t column = 1; column <= kSteal; ++column)
      if (wanted(column)) sum = sum.value_or(0) + parse_unsigned(words[column]).value_or(0);
  });
  return sum;
}

}  // namespace

void RunDelays::refresh() {
  threads_.clear();
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", none)) {
    UniqueFd file(::open((task.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC));
    if (file.valid()) threads_.push_back(std::move(file));
  }
}

std::optional<double> RunDelays::ns() const {
  // "CPU time, time on a run queue, time slices", in nanoseconds
  // (kernel: Documentation/scheduler/sched-stats.rst).
  if (threads_.empty()) return std::nullopt;
  double sum = 0;
  for (const UniqueFd& thread : threads_) {
    const std::string text = read_again<128>(thread);
    const std::size_t second = text.find(' ');
    if (second == std::string::npos) continue;  // it has ended
    sum += std::strtod(text.c_str() + second, nullptr);
  }
  return sum;
}

std::optional<std::uint64_t> stolen_ticks(const std::string& proc_stat, const CpuList& cpus) {
  return sum_of_columns(proc_stat, cpus, [](std::size_t column) { return column == kSteal; });
}

std::optional<std::uint64_t> busy_ticks(const std::string& proc_stat, const CpuList& cpus) {
  return sum_of_columns(proc_stat, cpus,
                        [](std::size_t column) { return column != kIdle && column != kIoWait; });
}

BusyCpus::BusyCpus(CpuList cpus) : cpus_(std::move(cpus)), begin_(now()) {}

std::optional<std::uint64_t> BusyCpus::now() const {
  return busy_ticks(read_text_file("/proc/stat").value_or(""), cpus_);
}

std::optional<std::uint64_t> BusyCpus::ticks() const {
  const auto end = now();
  if (!begin_ || !end || *end < *begin_) return std::nullopt;
  return *end - *begin_;
}

Steal::Steal(CpuList cpus) : cpus_(std::move(cpus)) {
  if (!cpus_.empty()) file_ = UniqueFd(::open("/proc/stat", O_RDONLY | O_CLOEXEC));
}

std::optional<std::uint64_t> Steal::ticks() const {
  if (!file_.valid()) return std::nullopt;
  return stolen_ticks(read_again<65536>(file_), cpus_);
}

}  // namespace hwprof
