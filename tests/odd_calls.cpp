// Calls of a BLAS as few programs make them: what an observer between caller and routine could
// break. One kind a process, named by the first word; exit 0: all was as it is alone.
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): names of a BLAS
extern "C" {
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                 float*, int);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*,
            unsigned long, unsigned long);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dgesvd_(const char*, const char*, const int*, const int*, double*, const int*, double*,
             double*, const int*, double*, const int*, double*, const int*, int*, unsigned long,
             unsigned long);
double _Complex zdotc_(const int*, const void*, const int*, const void*, const int*);
double cblas_ddot(int, const double*, int, const double*, int);
void cblas_dgemv(int, int, int, int, double, const double*, int, const double*, int, double,
                 double*, int);
}
// NOLINTEND(readability-identifier-naming)

namespace {

using Callback = void (*)(const void*);

// Calls `function` from inside a BLAS.
void inside_blas(Callback function, const void* argument = nullptr) {
  double y = 0;
  cblas_dgemv(101, 111, 1, 1, 1, static_cast<const double*>(argument), 1,
              reinterpret_cast<const double*>(reinterpret_cast<unsigned long>(function)), 1, 0, &y,
              1);
}

bool arguments() {
  float c = 0;
  cblas_sgemm(1, 2, 3, 4, 5, 6, 0.5F, nullptr, 7, nullptr, 8, 0.25F, &c, 9);
  if (c != 45.75F) return false;
  const int one = 1, two = 2, three = 3;
  const float half = 0.5F, quarter = 0.25F;
  sgemm_("N", "T", &one, &two, &three, &half, nullptr, &one, nullptr, &two, &quarter, &c, &three, 1,
         2);
  return c == 'N' + 'T' + 12 + 0.75F + 21000;
}

bool lapack() {
  const int one = 1, two = 2, three = 3, four = 4, five = 5;
  int info = 0;
  dgesv_(&three, &two, nullptr, &four, nullptr, nullptr, &five, &info);
  if (info != 3 + 20 + 400 + 5000) return false;
  dgesvd_("A", "S", &one, &two, nullptr, &three, nullptr, nullptr, &four, nullptr, &five, nullptr,
          &three, &info, 1, 2);
  return info == 'A' + 'S' + 1 + 2 + 3 + 4 + 5 + 3 + 21000;
}

bool results() {
  const int one = 1, two = 2, three = 3;
  const double _Complex dot = zdotc_(&one, nullptr, &two, nullptr, &three);
  const double x = 0.5;
  return __real__ dot == 21 && __imag__ dot == 300 && cblas_ddot(1, &x, 2, &x, 3) == 321.5;
}

bool throws() {
  int caught = 0;
  for (int i = 0; i < 1000; ++i) {
    try {
      inside_blas([](const void*) { throw std::runtime_error("from inside"); });
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  return caught == 1000 && arguments();
}

jmp_buf place;

bool jumps() {
  for (static int i = 0; i < 1000; ++i) {  // not in a register, which a jump brings back
    if (setjmp(place) != 0) continue;
    inside_blas([](const void*) { ::longjmp(place, 1); });
    return false;
  }
  return arguments();
}

int depth = 0;

void descend(const void* /*nothing*/) {
  if (++depth < 5000) inside_blas(descend);
}

bool recursion() {
  inside_blas(descend);
  return depth == 5000 && arguments();
}

bool threads() {
  bool good[8] = {};
  std::vector<std::thread> started;
  for (bool& each : good) {
    started.emplace_back([&each] {
      each = true;
      for (int i = 0; i < 20'000; ++i) each = each && arguments();
    });
  }
  for (std::thread& thread : started) thread.join();
  for (const bool each : good) {
    if (!each) return false;
  }
  return true;
}

int frames = 0;

// The callback, the routine, this function, main() and what called it at the least.
bool unwinds() {
  inside_blas([](const void*) {
    void* addresses[64];
    frames = ::backtrace(addresses, 64);
  });
  return frames >= 5;
}

__attribute__((noinline)) void last_call(float* c) {
  return cblas_sgemm(1, 2, 3, 4, 5, 6, 0.5F, nullptr, 7, nullptr, 8, 0.25F, c, 9);
}

bool tail_call() {
  float c = 0;
  last_call(&c);
  return c == 45.75F;
}

ucontext_t home, coroutine;
int visits = 0;

// At the very end of a stack, behind which there is no memory: nothing may be read there.
void visit() {
  float c = 0;
  cblas_sgemm(1, 2, 3, 4, 5, 6, 0.5F, nullptr, 7, nullptr, 8, 0.25F, &c, 9);
  inside_blas([](const void*) {
    ++visits;
    ::swapcontext(&coroutine, &home);
    ++visits;
  });
}

// A coroutine that leaves a call open and comes back.
bool switches() {
  constexpr std::size_t kStack = 65536;
  auto* stack = static_cast<char*>(
      ::mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (stack == MAP_FAILED || ::munmap(stack + kStack, kStack) != 0) return false;
  ::getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = kStack;
  coroutine.uc_link = &home;
  ::makecontext(&coroutine, visit, 0);
  ::swapcontext(&home, &coroutine);
  if (!arguments()) return false;
  inside_blas([](const void*) {});
  ::swapcontext(&home, &coroutine);
  return visits == 2;
}

bool exits() {
  const pid_t child = ::fork();
  if (child == 0) inside_blas([](const void*) { ::_exit(7); });
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

bool thread_ends() {
  pthread_t thread;
  const auto body = [](void*) -> void* {
    inside_blas([](const void*) { ::pthread_exit(nullptr); });
    return nullptr;
  };
  return ::pthread_create(&thread, nullptr, body, nullptr) == 0 &&
         ::pthread_join(thread, nullptr) == 0 && arguments();
}

constexpr struct {
  const char* name;
  bool (*is_good)();
} kKinds[] = {
    {"arguments", arguments}, {"results", results},          {"throw", throws},
    {"longjmp", jumps},       {"recursion", recursion},      {"threads", threads},
    {"backtrace", unwinds},   {"tail", tail_call},           {"swapcontext", switches},
    {"exit", exits},          {"pthread_exit", thread_ends}, {"lapack", lapack},
};

}  // namespace

int main(int count, char** words) {
  for (const auto& kind : kKinds) {
    if (count > 1 && std::strcmp(kind.name, words[1]) == 0) return kind.is_good() ? 0 : 1;
  }
  for (const auto& kind : kKinds) std::puts(kind.name);
  return 2;
}
