// Regions that hwprof is asked to count, left in every way that a program leaves them. Exit 0: the
// work, errno and what came behind were as without hwprof.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "counters/regions/hwprof.h"

namespace {

constexpr int kNumbers = 1000;
const std::vector<double> kValues(kNumbers, 2.0);

// Two FLOP a number, scalar, whatever the compiler: it may not change the order of sums.
__attribute__((noinline)) double sum_of_squares(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    double square = values[i] * values[i];
    asm("" : "+x"(square));
    sum += square;
    asm("" : "+x"(sum));
  }
  return sum;
}

int done = 0;

bool work() {
  const bool right = sum_of_squares(kValues.data(), kNumbers) == 4.0 * kNumbers;
  done += right ? 1 : 0;
  return right;
}

int plain(int entries) {
  for (int i = 0; i < entries; ++i) {
    const hwprof_region outer = hwprof_enter("outer");
    errno = 77;
    const hwprof_region inner = hwprof_enter("inner");
    if (errno != 77) return 3;
    hwprof_declare(inner, 2.0 * kNumbers, 8.0 * kNumbers);
    work();
    errno = 78;
    hwprof_leave(inner);
    if (errno != 78) return 4;
    hwprof_leave(outer);
  }
  return done == entries ? 0 : 5;
}

// The outer region's end is that of the inner one, too.
int left_by_outer(int) {
  const hwprof_region outer = hwprof_enter("outer");
  hwprof_enter("inner");
  work();
  hwprof_leave(outer);
  work();
  return done == 2 ? 0 : 5;
}

// An entry inside itself is an entry.
int recursion(int) {
  const hwprof_region outer = hwprof_enter("inner");
  work();
  const hwprof_region inner = hwprof_enter("inner");
  work();
  hwprof_leave(inner);
  hwprof_leave(outer);
  work();
  return done == 3 ? 0 : 5;
}

struct Guard {
  hwprof_region region = hwprof_enter("inner");
  ~Guard() { hwprof_leave(region); }
};

int exception(int) {
  try {
    const Guard guard;
    work();
    throw std::runtime_error("left");
  } catch (const std::runtime_error&) {
    return done == 1 ? 0 : 5;
  }
}

// Never left: the thread goes on, and its work is done all the same.
int longjmp_out(int) {
  static std::jmp_buf back;
  if (setjmp(back) == 0) {
    hwprof_enter("inner");
    work();
    std::longjmp(back, 1);
  }
  work();
  return done == 2 ? 0 : 5;
}

int thread_ends(int) {
  pthread_t thread{};
  const auto body = [](void*) -> void* {
    hwprof_enter("inner");
    work();
    pthread_exit(nullptr);
  };
  if (pthread_create(&thread, nullptr, body, nullptr) != 0) return 6;
  pthread_join(thread, nullptr);
  return done == 1 ? 0 : 5;
}

int program_ends(int) {
  hwprof_enter("inner");
  work();
  std::exit(done == 1 ? 0 : 5);
}

// Of a thread that is not the first, while that one waits.
int in_a_thread(int) {
  std::thread([] { plain(1); }).join();
  return done == 1 ? 0 : 5;
}

int busy_thread(int) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) std::this_thread::yield();
  });
  const int result = plain(1);
  stop = true;
  other.join();
  return result;
}

// Both leave the region.
int fork_inside(int) {
  const hwprof_region region = hwprof_enter("inner");
  const pid_t child = ::fork();
  work();
  hwprof_leave(region);
  if (child == 0) ::_exit(done);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 6;
  return done == 1 && WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : 5;
}

// From here on to ask for much of what counting needs ends the process.
int limits_itself(int) {
  hwprof_leave(hwprof_enter("before"));
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 319, 0, 1),  // memfd_create
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = 4, .filter = rules};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 6;
  return plain(1);
}

}  // namespace

int main(int count, char** words) {
  const std::map<std::string, std::function<int(int)>> ways = {
      {"plain", plain},
      {"left-by-outer", left_by_outer},
      {"recursion", recursion},
      {"exception", exception},
      {"longjmp", longjmp_out},
      {"thread-ends", thread_ends},
      {"program-ends", program_ends},
      {"in-a-thread", in_a_thread},
      {"busy-thread", busy_thread},
      {"fork", fork_inside},
      {"limits-itself", limits_itself},
  };
  const auto way = ways.find(count > 1 ? words[1] : "");
  return way == ways.end() ? 2 : way->second(count > 2 ? std::atoi(words[2]) : 1);
}
