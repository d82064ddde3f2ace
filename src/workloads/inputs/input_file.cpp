#include "src/workloads/inputs/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hwprof {

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<UniqueFd> open_input(const std::string& path) {
  UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    const int code = errno;
    return tl::make_unexpected(
        Error{Fault::kUsage, code,
              fmt::format("cannot open {}: {}", display_name(path), std::strerror(code)),
              code == EACCES ? "you may not read it: see ls -l" : "check the path"});
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return usage_error(fmt::format("{} is a directory", display_name(path)), "name a file in it");
  }
  return fd;
}

}  // namespace hwprof
