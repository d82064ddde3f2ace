#include "src/report/render/output.h"

#include <unistd.h>

#include <cstring>

namespace hwprof::report {
namespace {

Result<void> write_to(int fd, const std::string& bytes, const std::string& name) {
  const int code = write_all(fd, bytes);
  if (code == 0) return {};
  return environment_error(code, "cannot write to " + name + ": " + std::strerror(code));
}

}  // namespace

Result<void> write_stdout(const std::string& bytes) {
  return write_to(STDOUT_FILENO, bytes, "standard output");
}

Result<void> write_stderr(const std::string& bytes) {
  return write_to(STDERR_FILENO, bytes, "standard error");
}

}  // namespace hwprof::report
