#include "src/observe/proc/processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "src/base/text.h"
#include "src/base/unique_fd.h"

namespace hwprof {
namespace {

constexpr std::size_t kMostCommandBytes = 128U << 10U, kMostProcesses = 65536;

std::string proc(pid_t pid, std::string_view file) { return fmt::format("/proc/{}/{}", pid, file); }

// /proc shows threads by their numbers, too, though it does not list them.
std::optional<pid_t> process_of(std::string_view status) {
  constexpr std::string_view kLabel = "\nTgid:\t";
  const auto at = status.find(kLabel);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = status.substr(at + kLabel.size());
  return parse_int(line.substr(0, line.find('\n')));
}

}  // namespace

std::vector<std::string_view> stat_fields(std::string_view text) {
  const auto name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return {};
  return split(trim(text.substr(name_end + 2)), ' ');
}

double ticks_a_second() {
  static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ticks;
}

std::optional<uid_t> effective_user(std::string_view status) {
  constexpr std::string_view kLabel = "\nUid:\t";
  const auto at = status.find(kLabel);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = status.substr(at + kLabel.size());
  const auto ids = split(line.substr(0, line.find('\n')), '\t');
  const auto user = ids.size() > 1 ? parse_unsigned(ids[1]) : std::nullopt;
  return user ? std::optional(static_cast<uid_t>(*user)) : std::nullopt;
}

bool has_ended(pid_t pid) {
  const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) return errno != ENOSYS && errno != EMFILE && errno != ENFILE && errno != EPERM;
  pollfd ended{fd.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

std::optional<ProcessInfo> process_info(pid_t pid) {
  const auto stat = read_text_file(proc(pid, "stat"));
  struct stat owner = {};
  if (!stat || ::stat(proc(pid, "").c_str(), &owner) != 0) return std::nullopt;
  const std::vector<std::string_view> fields = stat_fields(*stat);
  constexpr std::size_t kFirst = 3;  // number of fields[0] in proc(5)
  const auto field = [&](std::size_t number) -> std::uint64_t {
    const std::size_t at = number - kFirst;
    return at < fields.size() ? parse_unsigned(fields[at]).value_or(0) : 0;
  };
  if (fields.size() < 22 - kFirst + 1) return std::nullopt;
  const double tick = 1.0 / ticks_a_second();
  ProcessInfo info;
  info.main_ended = fields[0] == "Z" || fields[0] == "X";
  info.ended = info.main_ended && field(20) <= 1;  // threads
  info.parent = static_cast<pid_t>(field(4));
  info.kernel_thread = (field(9) & kKernelThread) != 0;
  info.user_s = tick * static_cast<double>(field(14) + field(16));
  info.system_s = tick * static_cast<double>(field(15) + field(17));
  info.start_ticks = field(22);
  info.name = trim(read_text_file(proc(pid, "comm")).value_or(""));
  const std::string status = read_text_file(proc(pid, "status")).value_or("");
  info.process = process_of(status).value_or(pid);
  // The owner of /proc/PID is root for a process that may not be dumped; Uid names the user.
  info.user = effective_user(status).value_or(owner.st_uid);
  return info;
}

std::vector<std::string> command_of(pid_t pid) {
  const UniqueFd file(::open(proc(pid, "cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  std::string words(kMostCommandBytes, '\0');
  const ssize_t got =
      file.valid()
          ? retry_interrupted([&] { return ::read(file.get(), words.data(), words.size()); })
          : 0;
  words.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  std::vector<std::string> command;
  for (std::size_t begin = 0; begin < words.size();) {
    const auto end = std::min(words.find('\0', begin), words.size());
    command.push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return command;
}

std::optional<std::uint64_t> peak_rss_bytes(pid_t pid) {
  const auto status = read_text_file(proc(pid, "status"));
  if (!status) return std::nullopt;
  constexpr std::string_view kName = "\nVmHWM:";
  const auto at = status->find(kName);
  if (at == std::string::npos) return std::nullopt;
  std::string_view line = std::string_view(*status).substr(at + kName.size());
  line = trim(line.substr(0, line.find('\n')));
  const auto kibibytes = parse_unsigned(line.substr(0, line.find(' ')));
  if (!kibibytes) return std::nullopt;
  return *kibibytes * 1024;
}

std::optional<double> waited_for_cpu_s(pid_t pid) {
  // "365881864 363764807 96": ns on a CPU, ns waiting for one, time slices.
  const auto text = read_text_file(proc(pid, "schedstat"));
  if (!text) return std::nullopt;
  std::string_view words = *text;
  words.remove_prefix(std::min(words.size(), words.find(' ') + 1));
  const auto waited_ns = parse_unsigned(words.substr(0, words.find(' ')));
  if (!waited_ns) return std::nullopt;
  return static_cast<double>(*waited_ns) * 1e-9;
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  std::filesystem::directory_iterator entries(proc(pid, "task"), error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (const auto id = parse_int(entries->path().filename().string())) threads.push_back(*id);
  }
  return threads;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t thread : threads_of(pid)) {
    const auto text = read_text_file(fmt::format("/proc/{}/task/{}/children", pid, thread));
    if (!text) continue;
    for (const std::string_view word : split(trim(*text), ' ')) {
      if (const auto id = parse_int(word)) children.push_back(*id);
    }
  }
  return children;
}

std::vector<pid_t> process_tree(pid_t pid) {
  std::vector<pid_t> tree{pid};
  for (std::size_t i = 0; i < tree.size() && tree.size() < kMostProcesses; ++i) {
    const std::vector<pid_t> children = children_of(tree[i]);
    tree.insert(tree.end(), children.begin(), children.end());
  }
  return tree;
}

}  // namespace hwprof
