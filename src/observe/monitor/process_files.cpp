#include "src/observe/monitor/process_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "src/base/text.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/proc/process_list.h"
#include "src/observe/proc/same_program.h"

namespace hwprof::observe {
namespace {

UniqueFd open_file_of(pid_t pid, const char* name, int flags = O_RDONLY) {
  return UniqueFd(::open(fmt::format("/proc/{}/{}", pid, name).c_str(), flags | O_CLOEXEC));
}

void open_maps(pid_t pid, ProcessFiles& files) {
  files.maps = open_file_of(pid, "maps");
  files.error = files.maps.valid() ? 0 : errno;
}

void open_memory(pid_t pid, ProcessFiles& files) {
  files.memory = open_file_of(pid, "mem");
  files.memory_error = files.memory.valid() ? 0 : errno;
}

void open_rest(pid_t pid, ProcessFiles& files) {
  files.environment = open_file_of(pid, "environ");
  files.environment_error = files.environment.valid() ? 0 : errno;
  files.program = open_file_of(pid, "exe", O_PATH);
  files.root = open_file_of(pid, "root", O_PATH | O_DIRECTORY);
}

void open_all(pid_t pid, ProcessFiles& files) {
  open_maps(pid, files);
  if (files.error != 0) return;
  open_memory(pid, files);
  open_rest(pid, files);
}

// A user's own memory takes more than the right to look where Yama says so (ptrace_scope), which
// root has: of a program that the user may look into, before and after, and of no other.
void open_memory_as_root(pid_t pid, const Account& account, ProcessFiles& files) {
  const auto map_as_user = [&] {
    const ActingAs user(account);
    files.maps = user.valid() ? open_file_of(pid, "maps") : UniqueFd();
    return files.maps.valid();
  };
  files.memory = open_of_one_program(pid, [&]() -> UniqueFd {
    if (!map_as_user()) return {};
    UniqueFd memory = open_file_of(pid, "mem");
    return memory.valid() && map_as_user() ? std::move(memory) : UniqueFd();
  });
  files.memory_error = files.memory.valid() ? 0 : errno;
  if (!files.maps.valid()) files.error = files.memory_error;
}

using Addresses = decltype(ProgramMarks::addresses);

// Those of its program, while it is the process that was seen. Whose rights it has may change, and
// change back by a program that gives them (su and sudo at their prompts): with other addresses.
std::optional<Addresses> addresses_while_still(const SeenProcess& process, const Account& account) {
  const auto text = [&](const char* name) {
    return read_text_file(fmt::format("/proc/{}/{}", process.pid, name)).value_or("");
  };
  const std::string stat = text("stat");
  const auto now = listed_process(process.pid, stat, text("status"));
  const auto marks = program_marks_in(stat);
  const bool is_still = now && now->start_ticks == process.start_ticks &&
                        now->user == process.user &&
                        (::geteuid() != 0 || now->starter.uid == account.uid);
  return is_still && marks ? std::optional(marks->addresses) : std::nullopt;
}

}  // namespace

std::vector<ProcessFiles> open_process_files(std::span<const SeenProcess> processes,
                                             const Account& account,
                                             const std::function<void(std::size_t)>& next) {
  std::vector<ProcessFiles> all(processes.size());
  std::vector<std::optional<Addresses>> before;
  for (const SeenProcess& process : processes) {
    next(before.size());
    before.push_back(addresses_while_still(process, account));
  }
  const bool for_other = ::geteuid() == 0 && account.uid != 0;
  {
    std::optional<ActingAs> user;
    if (for_other && !user.emplace(account).valid()) {
      for (ProcessFiles& files : all) files.error = errno;
      return all;
    }
    for (std::size_t i = 0; i < processes.size(); ++i) {
      next(i);
      open_all(processes[i].pid, all[i]);
    }
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    next(i);
    if (for_other && (all[i].memory_error == EACCES || all[i].memory_error == EPERM))
      open_memory_as_root(processes[i].pid, account, all[i]);
    // Without addresses it is between two programs.
    const bool is_one = before[i] && before[i]->front() != 0 &&
                        addresses_while_still(processes[i], account) == before[i];
    if (all[i].error != 0 || is_one) continue;
    all[i] = {};
    all[i].error = ESRCH;
  }
  return all;
}

std::string program_path(const ProcessFiles& files) {
  if (!files.program.valid()) return "";
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", files.program.get()).c_str(),
                                    target.data(), target.size());
  return {target.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

UniqueFd open_in_root(const ProcessFiles& files, const std::string& path) {
  return open_regular_in(files.root, path);
}

}  // namespace hwprof::observe
