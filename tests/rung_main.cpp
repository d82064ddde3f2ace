// The child of the ladder's tests: what `hwprof __rung` is for hwprof, and a few ways to go wrong.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "src/blas/ladder/rung.h"

namespace {

void hang() { std::this_thread::sleep_for(std::chrono::hours(1)); }

// Environment and open descriptors, as they were passed on.
int show() {
  for (char** entry = environ; *entry != nullptr; ++entry) std::puts(*entry);
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) std::printf(fd == 0 ? "%d" : " %d", fd);
  }
  std::puts("");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return 2;
  if (arguments[0] == "exit") return std::stoi(arguments.at(1));
  if (arguments[0] == "raise") return std::raise(std::stoi(arguments.at(1)));
  if (arguments[0] == "show") return show();
  if (arguments[0] == "hang") hang();
  if (arguments[0] == "close-and-hang") {
    ::close(STDOUT_FILENO);
    hang();
  }
  while (arguments[0] == "talk") std::puts("and another thing");
#ifdef CRASH
  return std::raise(SIGILL);
#else
  return hwprof::blas::run_rung({arguments.begin() + 1, arguments.end()});
#endif
}
