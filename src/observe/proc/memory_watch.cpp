#include "src/observe/proc/memory_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

constexpr double kFirstLookNs = 100e6, kMemoryLongestPauseNs = 5e9;
constexpr double kPauseOfAge = 0.5, kMemoryPauseFactor = 50;
constexpr double kThreadsPauseNs = 100e6;
// A program may map memory and start threads as it likes.
constexpr std::size_t kMostTextBytes = 16UL << 20U, kMemoryMostProcesses = 64,
                      kMemoryMostThreads = 256;
constexpr std::size_t kMostAreas = 8;
constexpr const char* kNodes = "/sys/devices/system/node";

// All of it, or the errno: E2BIG where it is longer than that.
struct TextOrError {
  std::string bytes;
  int error = 0;
};
TextOrError read_at_most(ForeignFile::Kind kind, pid_t pid, std::size_t most) {
  TextOrError text;
  const UniqueFd file = open_foreign({.kind = kind, .pid = pid, .start = 0, .end = 0, .path = {}});
  if (!file.valid()) return {"", errno};
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got =
        retry_interrupted([&] { return ::read(file.get(), buffer.data(), buffer.size()); });
    if (got < 0) return {"", errno};
    if (got == 0) return text;
    if (text.bytes.size() + static_cast<std::size_t>(got) > most) return {"", E2BIG};
    text.bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::map<unsigned, CpuList> cpus_of_nodes() {
  std::map<unsigned, CpuList> nodes;
  const auto online =
      parse_cpu_list(trim(read_text_file(fmt::format("{}/online", kNodes)).value_or("")));
  if (!online || online->size() < 2) return nodes;
  for (const unsigned node : *online) {
    const auto text = read_text_file(fmt::format("{}/node{}/cpulist", kNodes, node));
    const auto cpus = text ? parse_cpu_list(trim(*text)) : parse_cpu_list("");
    nodes[node] = cpus ? *cpus : CpuList{};
  }
  return nodes;
}

// Resident pages: the second number of proc_pid_statm(5).
std::uint64_t resident_pages(pid_t pid) {
  const auto text = read_text_file(fmt::format("/proc/{}/statm", pid));
  const auto words = text ? split(trim(*text), ' ') : std::vector<std::string_view>();
  return words.size() < 2 ? 0 : parse_unsigned(words[1]).value_or(0);
}

bool has_huge_pages(pid_t pid) {
  const auto status = read_text_file(fmt::format("/proc/{}/status", pid));
  return !status || status->find("THP_enabled:\t0") == std::string::npos;
}

}  // namespace

MemoryWatch::MemoryWatch(pid_t root)
    : root_(root),
      begin_ns_(wall_ns()),
      next_ns_(begin_ns_ + kFirstLookNs),
      next_threads_ns_(next_ns_),
      cpus_of_nodes_(cpus_of_nodes()),
      setting_(chosen_setting(
          read_text_file("/sys/kernel/mm/transparent_hugepage/enabled").value_or(""))) {
  if (cpus_of_nodes_.empty()) found_.nodes_reason = "the machine has one NUMA node";
}

void MemoryWatch::look() {
  const double now_ns = wall_ns();
  const bool threads = !cpus_of_nodes_.empty() && now_ns >= next_threads_ns_;
  if (now_ns < next_ns_ && !threads) return;
  tree_ = process_tree(root_);
  if (tree_.size() > kMemoryMostProcesses) tree_.resize(kMemoryMostProcesses);
  if (threads) {
    look_at_threads(tree_);
    const double end_ns = wall_ns();
    next_threads_ns_ = end_ns + std::max(kThreadsPauseNs, kMemoryPauseFactor * (end_ns - now_ns));
  }
  if (now_ns < next_ns_ || tree_.empty()) return;
  const auto largest = std::max_element(tree_.begin(), tree_.end(), [](pid_t a, pid_t b) {
    return resident_pages(a) < resident_pages(b);
  });
  // By the CPU's time: on a busy machine a look may wait for its CPU longer than a program lives.
  const double begin_cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID);
  look_at_memory(*largest);
  const double took_ns = ns_of(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns, end_ns = wall_ns();
  next_ns_ = end_ns + std::max(std::clamp(kPauseOfAge * (end_ns - begin_ns_), kFirstLookNs,
                                          kMemoryLongestPauseNs),
                               kMemoryPauseFactor * took_ns);
}

void MemoryWatch::look_at_memory(pid_t pid) {
  const TextOrError smaps = read_at_most(ForeignFile::Kind::kPages, pid, kMostTextBytes);
  if (smaps.error != 0 || smaps.bytes.empty()) {
    // It may have ended meanwhile: what was found before stays.
    if (smaps.error != 0 && smaps.error != ENOENT && smaps.error != ESRCH)
      found_.reason = fmt::format(
          "/proc/{}/smaps cannot be read: {}", pid,
          smaps.error == E2BIG ? "it has too many mappings" : std::strerror(smaps.error));
    return;
  }
  ++found_.looks;
  std::vector<MappedArea> areas = parse_smaps(smaps.bytes);
  if (areas.size() > kMostAreas) areas.resize(kMostAreas);
  std::uint64_t bytes = 0;
  for (const MappedArea& one : areas) bytes += one.area.resident_bytes;
  if (bytes <= most_bytes_) return;
  most_bytes_ = bytes;
  found_.areas.clear();
  for (const MappedArea& one : areas) found_.areas.push_back(one.area);
  found_.huge_pages = has_huge_pages(pid) ? setting_ : "process";
  if (cpus_of_nodes_.empty()) return;
  const TextOrError text = read_at_most(ForeignFile::Kind::kPagesByNode, pid, kMostTextBytes);
  found_.nodes_reason =
      text.error == 0 ? "" : fmt::format("numa_maps: {}", std::strerror(text.error));
  node_bytes_ = parse_numa_maps(text.bytes, areas);
}

void MemoryWatch::look_at_threads(const std::vector<pid_t>& tree) {
  std::size_t read = 0;
  for (const pid_t pid : tree) {
    for (const pid_t tid : threads_of(pid)) {
      if (++read > kMemoryMostThreads) return;
      const auto stat = read_text_file(fmt::format("/proc/{}/task/{}/stat", pid, tid));
      const auto cpu = stat ? running_cpu(*stat) : std::nullopt;
      if (!cpu) continue;
      for (const auto& [node, cpus] : cpus_of_nodes_) {
        if (std::find(cpus.begin(), cpus.end(), *cpu) == cpus.end()) continue;
        ++running_[node];
        ++found_.running_seen;
      }
    }
  }
}

model::LargeMemory MemoryWatch::finish() {
  if (!found_.areas.empty()) {
    found_.reason.clear();
  } else if (found_.reason.empty()) {
    found_.reason = found_.looks == 0 ? "it ended before its memory was looked at"
                                      : "no area of 16 MiB or more was seen";
  }
  if (!found_.areas.empty() && found_.nodes_reason.empty())
    found_.nodes = memory_nodes(node_bytes_, running_);
  else if (found_.nodes_reason.empty())
    found_.nodes_reason = found_.reason;
  return std::move(found_);
}

}  // namespace hwprof::observe
