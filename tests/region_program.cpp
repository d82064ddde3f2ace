// A program with regions, for the tests of `hwprof run`: one child by fork(), one by exec().
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "counters/regions/region.h"

namespace {

void work(int steps) {
  for (int i = 0; i < steps; ++i) {
    hwprof::Region step("step");
    hwprof::Region fill("fill");
    fill.describe("Fill", i % 2 == 0 ? "1048576" : "2097152");
    std::vector<char> memory(i % 2 == 0 ? 1 << 20 : 2 << 20, 'x');
    fill.declare({.flops = static_cast<double>(memory[0]), .bytes = 1});
  }
}

}  // namespace

int main(int count, char** arguments) {
  work(4);
  if (count > 1) return 0;
  const pid_t forked = fork();
  if (forked == 0) {
    work(2);
    return 0;
  }
  const pid_t executed = fork();
  if (executed == 0) {
    execl(arguments[0], arguments[0], "child", nullptr);
    _exit(1);
  }
  waitpid(forked, nullptr, 0);
  waitpid(executed, nullptr, 0);
  return 0;
}
