#include "src/observe/proc/program_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof {
namespace {

constexpr int kMostInterpreters = 4;                   // as the kernel (fs/exec.c, exec_binprm)
constexpr std::size_t kScriptLine = 256;               // BINPRM_BUF_SIZE
constexpr const char* kDefaultPath = "/bin:/usr/bin";  // as glibc, where PATH is not set

// 0, or why this file cannot be run.
int why_not(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

tl::unexpected<Error> refused(const std::string& command, int code) {
  if (code == ENOENT || code == ENOTDIR) {
    return environment_error(ENOENT, fmt::format("{}: command not found", command),
                             command.find('/') == std::string::npos
                                 ? "no folder of PATH has it; give its path"
                                 : "no such file");
  }
  return environment_error(
      code,
      fmt::format("{}: cannot be run: {}", command,
                  code == EISDIR ? "it is a folder" : std::strerror(code)),
      code == EACCES ? fmt::format("chmod +x {}, if it is a program", command) : "");
}

// "/usr/bin/env" of "#! /usr/bin/env python3"; empty: no script.
std::string interpreter_of(int fd) {
  std::string line(kScriptLine, '\0');
  const ssize_t got = ::pread(fd, line.data(), line.size(), 0);
  if (got < 3 || line.compare(0, 2, "#!") != 0) return {};
  line.resize(static_cast<std::size_t>(got));
  line = line.substr(2, line.find('\n') - 2);
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

bool file_gains_rights(const std::string& path, const struct stat& info) {
  const bool other_user = (info.st_mode & S_ISUID) != 0 && info.st_uid != ::geteuid();
  const bool other_group =
      (info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0 && info.st_gid != ::getegid();
  return other_user || other_group ||
         ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

Result<std::string> find_program(const std::string& command) {
  if (command.empty()) return refused("''", ENOENT);
  if (command.find('/') != std::string::npos) {
    if (const int code = why_not(command)) return refused(command, code);
    return command;
  }
  const char* variable = std::getenv("PATH");
  int reason = ENOENT;
  for (const std::string_view folder : split(variable ? variable : kDefaultPath, ':')) {
    const std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, command);
    const int code = why_not(path);
    if (code == 0) return path;
    // The search goes on behind a file that may not be run, and remembers it (execvp(3)).
    if (code == EACCES) reason = EACCES;
  }
  return refused(command, reason);
}

ProgramFile inspect_program(const std::string& path) {
  ProgramFile program;
  program.path = path;
  for (int i = 0; i <= kMostInterpreters; ++i) {
    const UniqueFd fd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info = {};
    if (!fd.valid()) {  // it may be run without being readable
      if (::stat(program.path.c_str(), &info) == 0)
        program.gains_rights = file_gains_rights(program.path, info);
      return program;
    }
    if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return program;
    std::string interpreter = interpreter_of(fd.get());
    if (!interpreter.empty()) {  // the kernel ignores the setuid bit of a script
      program.path = std::move(interpreter);
      continue;
    }
    program.gains_rights = file_gains_rights(program.path, info);
    const observe::ElfFile elf(fd.get());
    program.is_elf = elf.is_64_bit();
    program.is_static = program.is_elf && elf.interpreter().empty();
    return program;
  }
  return program;
}

}  // namespace hwprof
