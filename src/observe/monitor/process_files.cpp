#include "src/observe/monitor/process_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "src/observe/proc/foreign_file.h"

namespace hwprof::observe {
namespace {

UniqueFd open_file_of(pid_t pid, const char* name, int flags = O_RDONLY) {
  return UniqueFd(::open(fmt::format("/proc/{}/{}", pid, name).c_str(), flags | O_CLOEXEC));
}

void open_maps(pid_t pid, ProcessFiles& files) {
  files.maps = open_file_of(pid, "maps");
  files.error = files.maps.valid() ? 0 : errno;
}

// Its memory takes more than the right to look where Yama says so (ptrace_scope), which root has.
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

}  // namespace

std::vector<ProcessFiles> open_process_files(std::span<const pid_t> pids, const Account& account) {
  std::vector<ProcessFiles> all(pids.size());
  const auto each = [&](auto open) {
    for (std::size_t i = 0; i < pids.size(); ++i)
      if (all[i].error == 0) open(pids[i], all[i]);
  };
  if (::geteuid() != 0 || account.uid == ::geteuid()) {
    each([](pid_t pid, ProcessFiles& files) {
      open_maps(pid, files);
      if (files.error != 0) return;
      open_memory(pid, files);
      open_rest(pid, files);
    });
    return all;
  }
  // May the user look? Then the memory, as root; then again, since meanwhile the process may have
  // become a program with other rights. The memory of what it was before its execve reads as none.
  const auto as_user = [&](auto open) {
    const ActingAs user(account);
    if (!user.valid()) {
      const int code = errno;
      for (ProcessFiles& files : all) files.error = files.error != 0 ? files.error : code;
      return;
    }
    each(open);
  };
  as_user(open_maps);
  each(open_memory);
  as_user([](pid_t pid, ProcessFiles& files) {
    open_maps(pid, files);
    if (files.error == 0) open_rest(pid, files);
  });
  for (ProcessFiles& files : all)
    if (files.error != 0) files.memory.reset();
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
