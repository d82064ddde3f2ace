// A program whose hot code is known: runs one loop, in threads, in a child, in a child of a child
// that executes itself, or copied into memory as a run-time compiler would.
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/hot_loops.h"

namespace {

using Run = void (*)(unsigned long);

// Of CPU time: on a busy machine a thread that waits takes no samples.
void spin(Run run, int milliseconds) {
  const auto used = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1000 * now.tv_sec + now.tv_nsec / 1'000'000;
  };
  const auto end = used() + milliseconds;
  while (used() < end) run(1'000'000);
}

// Takes memory of the kernel, touches each page of it and gives it back, `pages` times a round.
[[gnu::noinline]] void touch(unsigned long pages) {
  constexpr std::size_t kPage = 4096, kBytes = 1024 * kPage;
  for (unsigned long done = 0; done < pages; done += kBytes / kPage) {
    void* memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    ::madvise(memory, kBytes, MADV_NOHUGEPAGE);
    auto* bytes = static_cast<volatile char*>(memory);
    for (std::size_t at = 0; at < kBytes; at += kPage) bytes[at] = 1;
    ::munmap(memory, kBytes);
  }
}

Run generated(const hwprof::HotLoop& loop) {
  void* memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  std::memcpy(memory, loop.code.data(), loop.code.size());
  __builtin___clear_cache(static_cast<char*>(memory),
                          static_cast<char*>(memory) + loop.code.size());
  std::printf("%p\n", memory);
  return reinterpret_cast<Run>(memory);
}

}  // namespace

// LOOP MILLISECONDS [threads N | fork | exec | generate | map | touch]
int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const hwprof::HotLoop& loop = hwprof::hot_loop(argv[1]);
  const int milliseconds = std::atoi(argv[2]);
  const std::string how = argc > 3 ? argv[3] : "";
  if (how == "threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < std::atoi(argv[4]); ++i) {
      threads.emplace_back(spin, loop.run, milliseconds);
    }
    for (std::thread& thread : threads) thread.join();
  } else if (how == "fork" || how == "exec") {
    const pid_t child = ::fork();
    if (child == 0) {
      if (how == "exec") {
        ::execl(argv[0], argv[0], argv[1], argv[2], static_cast<char*>(nullptr));
        ::_exit(127);
      }
      spin(loop.run, milliseconds);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
  } else if (how == "generate" || how == "map") {
    const Run run = generated(loop);
    if (how == "map") {  // as run-time compilers name their code for perf
      const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
      if (FILE* file = std::fopen(path.c_str(), "w")) {
        std::fprintf(file, "%lx %zx jit_kernel<float>\n", reinterpret_cast<unsigned long>(run),
                     loop.code.size());
        std::fclose(file);
      }
    }
    spin(run, milliseconds);
  } else if (how == "touch") {  // instead of the loop
    spin([](unsigned long) { touch(8192); }, milliseconds);
  } else {
    spin(loop.run, milliseconds);
  }
  return 0;
}
