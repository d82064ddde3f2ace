// Programs that make a known number of BLAS calls, run under a watch: for the tests of both ways.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/blas/evidence/called.h"

namespace hwprof::blas {

struct Watched {
  report::Called called;
  int status = 0;  // as waitpid() gives it
};

struct Runner {
  CallWatchOptions options;
  uid_t user = 0;  // other than 0: the command runs as this user

  // As hwprof runs a command: it waits for the observers before its exec.
  Watched run() {
    CallWatch watch = CallWatch::prepare(options);
    int gate[2];
    EXPECT_EQ(::pipe2(gate, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) exec(gate[0], watch.environment());
    ::close(gate[0]);
    watch.attach(child);
    EXPECT_EQ(::write(gate[1], "x", 1), 1);
    ::close(gate[1]);
    Watched result;
    while (::waitpid(child, &result.status, WNOHANG) == 0) {
      std::vector<pollfd> polled;
      for (const int fd : watch.descriptors()) polled.push_back({fd, POLLIN, 0});
      ::poll(polled.data(), polled.size(), 10);
      watch.drain();
    }
    result.called = watch.finish();
    return result;
  }

 private:
  [[noreturn]] void exec(int gate, const std::vector<std::string>& environment) const {
    char go;
    if (::read(gate, &go, 1) != 1) ::_exit(99);
    for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
    if (user != 0 && ::setuid(user) != 0) ::_exit(98);
    std::vector<char*> arguments;
    for (const std::string& word : options.command) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
};

enum class Way { kUprobes, kAudit };

inline Watched watch(Way way, std::vector<std::string> command) {
  Runner runner{{std::move(command), {}, way == Way::kUprobes, way == Way::kAudit}, 0};
  return runner.run();
}

inline std::vector<report::CallSite> of_symbol(const report::Called& called,
                                               const std::string& symbol) {
  std::vector<report::CallSite> sites;
  for (const report::CallSite& site : called.calls) {
    if (site.symbol == symbol) sites.push_back(site);
  }
  return sites;
}

inline std::string canonical(const std::string& path) { return std::filesystem::canonical(path); }

inline std::uint64_t all_calls(const report::Called& called) {
  std::uint64_t count = 0;
  for (const report::CallSite& site : called.calls) count += site.count;
  return count;
}

}  // namespace hwprof::blas
