// Makes a known number of BLAS calls, in one of the ways in which programs do. Exit 0: everything
// was as it is without an observer.
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

// NOLINTBEGIN(readability-identifier-naming): names of Fortran
extern "C" {
using Sgemm = void(const char*, const char*, const int*, const int*, const int*, const float*,
                   const float*, const int*, const float*, const int*, const float*, float*,
                   const int*);
Sgemm sgemm_;
#ifndef STATIC
void zgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void strsm_(const char*, const char*, const char*, const char*, const int*, const int*,
            const float*, const float*, const int*, float*, const int*);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, const double*, double*, const int*);
void zher2k_(const char*, const char*, const int*, const int*, const double*, const double*,
             const int*, const double*, const int*, const double*, double*, const int*);
void ssymm_(const char*, const char*, const int*, const int*, const float*, const float*,
            const int*, const float*, const int*, const float*, float*, const int*);
void dtrsv_(const char*, const char*, const char*, const int*, const double*, const int*, double*,
            const int*);
void ssymv_(const char*, const int*, const float*, const float*, const int*, const float*,
            const int*, const float*, float*, const int*);
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                 float*, int);
void cblas_dtrmm(int, int, int, int, int, int, int, double, const double*, int, double*, int);
void cblas_ssyrk(int, int, int, int, int, float, const float*, int, float, float*, int);
#endif
}
// NOLINTEND(readability-identifier-naming)

namespace {

float a[4096], b[4096], c[4096];

void sgemm_by(Sgemm* function, int m, int n, int k, int times) {
  const float one = 1, zero = 0;
  for (int i = 0; i < times; ++i) {
    function("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);
  }
}

#ifdef STATIC
}  // namespace
// A BLAS inside the program.
extern "C" __attribute__((noinline)) void sgemm_(const char*, const char*, const int*, const int*,
                                                 const int*, const float*, const float*, const int*,
                                                 const float*, const int*, const float*, float*,
                                                 const int*) {
  asm volatile("" ::: "memory");
}
int main() {
  Sgemm* volatile function = sgemm_;
  sgemm_by(function, 2, 3, 4, 5);
}
#else

// Not through a pointer: the loader tells LD_AUDIT of calls, not of addresses that are taken.
void sgemm(int m, int n, int k, int times) {
  const float one = 1, zero = 0;
  for (int i = 0; i < times; ++i) {
    sgemm_("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);
  }
}

int fortran() {
  sgemm(2, 3, 4, 100);
  sgemm(20, 30, 40, 7);
  double x[64] = {}, y[64] = {};
  const double z_one[2] = {1, 0}, one = 1, zero = 0;
  const int two = 2, five = 5, six = 6, step = 1;
  for (int i = 0; i < 3; ++i) {
    zgemm_("N", "N", &two, &two, &two, z_one, x, &two, x, &two, z_one, y, &two);
  }
  for (int i = 0; i < 11; ++i) {
    dgemv_("N", &five, &six, &one, x, &five, x, &step, &zero, y, &step);
  }
  const float alpha = 1;
  for (int i = 0; i < 4; ++i) {
    strsm_("L", "U", "N", "U", &two, &two, &alpha, a, &two, b, &two);
  }
  return 0;
}

// One call of each shape that a routine can have: another place, another formula.
int others() {
  double x[64] = {}, y[64] = {};
  for (int i = 0; i < 64; ++i) x[i] = 1;
  const double one = 1, zero = 0, complex_one[2] = {1, 0};
  const float single = 1, nothing = 0;
  const int five = 5, six = 6, seven = 7, two = 2, three = 3, step = 1;
  dsyrk_("L", "N", &five, &six, &one, x, &five, &zero, y, &five);
  zher2k_("U", "C", &two, &three, complex_one, x, &three, x, &three, &zero, y, &two);
  ssymm_("R", "U", &five, &six, &single, a, &six, b, &five, &nothing, c, &five);
  ssymm_("L", "U", &five, &six, &single, a, &five, b, &five, &nothing, c, &five);
  dtrsv_("U", "T", "U", &seven, x, &seven, y, &step);
  ssymv_("U", &seven, &single, a, &seven, b, &step, &nothing, c, &step);
  constexpr int kRowMajor = 101, kRight = 142, kUpper = 121, kTranspose = 112, kNonUnit = 131;
  cblas_dtrmm(kRowMajor, kRight, kUpper, kTranspose, kNonUnit, 4, 3, 1.0, x, 3, y, 3);
  cblas_ssyrk(kRowMajor, kUpper, kTranspose, 6, 5, 1.0F, a, 6, 0.0F, c, 6);
  return 0;
}

// Calls that a BLAS refuses before it reads all that it is given; this one does nothing at all.
int wrong(const char* path) {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto* function =
      library != nullptr ? reinterpret_cast<Sgemm*>(::dlsym(library, "dgemm_")) : nullptr;
  if (function == nullptr) return 3;
  const auto* const wild = reinterpret_cast<const int*>(0x600000000000);
  const int negative = -1;
  const auto call = [&](const char* transpose, const int* m, const int* n) {
    function(transpose, "N", m, n, wild, nullptr, a, nullptr, b, nullptr, nullptr, c, nullptr);
  };
  call("x", wild, wild);
  call(nullptr, wild, wild);
  call("N", nullptr, wild);
  call("N", reinterpret_cast<const int*>(17), wild);
  call("N", reinterpret_cast<const int*>(~0UL), wild);
  call("N", &negative, wild);
  call("N", wild, wild);  // as a function that takes numbers where a BLAS takes pointers
  return 0;
}

int cblas() {
  constexpr int kRowMajor = 101, kNoTranspose = 111;
  for (int i = 0; i < 13; ++i) {
    cblas_sgemm(kRowMajor, kNoTranspose, kNoTranspose, 3, 4, 5, 1.0F, a, 5, b, 4, 0.0F, c, 4);
  }
  return 0;
}

int opened_later() {
  void* library = ::dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
  auto* function =
      library != nullptr ? reinterpret_cast<Sgemm*>(::dlsym(library, "sgemm_")) : nullptr;
  if (function == nullptr) return 3;
  sgemm_by(function, 2, 2, 2, 17);
  return 0;
}

int forks(const char* self) {
  sgemm(2, 2, 2, 1);
  const pid_t child = ::fork();
  if (child < 0) return 3;
  if (child == 0) {
    sgemm(2, 2, 2, 2);
    ::_exit(0);
  }
  std::thread([] { sgemm(2, 2, 2, 3); }).join();
  const pid_t other = ::vfork();
  if (other < 0) return 4;
  if (other == 0) {
    ::execl(self, self, "fortran", nullptr);
    ::_exit(127);
  }
  for (const pid_t pid : {child, other}) {
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid || status != 0) return 5;
  }
  return 0;
}

// Results, arguments on the stack, errno, pointers, setjmp() and what the observer must not leak
// into a program: its descriptors.
int transparent() {
  for (int i = 0; i < 4096; ++i) a[i] = b[i] = 1;
  sgemm(8, 8, 8, 1);
  for (int i = 0; i < 64; ++i) {
    if (c[i] != 8) return 3;
  }
  double x[30], v[6] = {1, 2, 3, 4, 5, 6}, y[5] = {7, 7, 7, 7, 7};
  for (double& value : x) value = 1;
  const double one = 1, half = 0.5;
  const int five = 5, six = 6, step = 1;
  dgemv_("N", &five, &six, &one, x, &five, v, &step, &half, y, &step);
  for (const double value : y) {
    if (value != 24.5) return 4;
  }
  cblas_sgemm(101, 111, 111, 2, 2, 2, 2.0F, a, 2, b, 2, 0.0F, c, 2);
  if (c[0] != 4 || c[3] != 4) return 5;
  jmp_buf place;
  volatile int jumps = 0;
  if (setjmp(place) < 3) {
    sgemm(2, 2, 2, 1);
    jumps = jumps + 1;
    ::longjmp(place, jumps);
  }
  if (jumps != 3) return 7;
  for (int fd = 3; fd < 64; ++fd) {
    char path[64], target[256];
    std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const ssize_t length = ::readlink(path, target, sizeof(target) - 1);
    if (length > 0 &&
        std::string_view(target, static_cast<std::size_t>(length)).find("hwprof-calls") !=
            std::string_view::npos) {
      return 8;
    }
  }
  return 0;
}

// Allows only what the products and the end need; all else kills.
int filtered() {
  sgemm(2, 2, 2, 1);
#define ALLOW(name)                                      \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      ALLOW(exit_group),
      ALLOW(exit),
      ALLOW(munmap),
      ALLOW(mmap),
      ALLOW(futex),
      ALLOW(sched_yield),
      ALLOW(madvise),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{sizeof(code) / sizeof(code[0]), code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 3;
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) return 4;
  sgemm(2, 2, 2, 18);
  ::_exit(0);
}

int waits() {
  char byte;
  if (::write(1, "r", 1) != 1 || ::read(0, &byte, 1) != 1) return 3;
  sgemm(2, 2, 2, 23);
  return 0;
}

// Prints the CPU time of each call, and what the clock says, in ns.
int tiny(int times) {
  const auto now = [](clockid_t clock) {
    timespec time;
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  sgemm(2, 2, 2, 1);
  const double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
  sgemm(2, 2, 2, times - 1);
  std::fprintf(stderr, "%.1f %.1f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (times - 1),
               (now(CLOCK_MONOTONIC) - wall) / (times - 1));
  return 0;
}

// Three calls of some ms among many short ones.
int long_ones() {
  constexpr int kDepth = 64'000;
  auto* x = new float[64 * kDepth]();
  const int n = 64, depth = kDepth;
  const float one = 1, zero = 0;
  for (int i = 0; i < 3; ++i) {
    sgemm_("N", "N", &n, &n, &depth, &one, x, &n, x, &depth, &zero, c, &n);
    sgemm(2, 2, 2, 333 + (i == 2 ? 1 : 0));
  }
  delete[] x;
  return 0;
}

// Two shapes in a pattern: three calls of the one, one of the other.
int mixed(int times) {
  for (int i = 0; i < times / 4; ++i) {
    sgemm(2, 2, 2, 3);
    sgemm(3, 3, 3, 1);
  }
  return 0;
}

// Works for so much CPU time, and prints how many calls that were.
int busy(double seconds) {
  const auto used = [] {
    timespec time;
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  std::printf("up\n");
  std::fflush(stdout);
  long calls = 0;
  for (const double end = used() + seconds; used() < end; calls += 10) sgemm(48, 50, 52, 10);
  std::printf("%ld\n", calls);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const char* way = count > 1 ? words[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(way, name) == 0; };
  if (is("fortran")) return fortran();
  if (is("others")) return others();
  if (is("wrong")) return wrong(count > 2 ? words[2] : "");
  if (is("cblas")) return cblas();
  if (is("dlopen")) return opened_later();
  if (is("fork")) return forks(words[0]);
  if (is("transparent")) return transparent();
  if (is("seccomp")) return filtered();
  if (is("long")) return long_ones();
  if (is("wait")) return waits();
  if (is("tiny")) return tiny(count > 2 ? std::atoi(words[2]) : 100'000);
  if (is("mixed")) return mixed(count > 2 ? std::atoi(words[2]) : 400'000);
  if (is("busy")) return busy(count > 2 ? std::atof(words[2]) : 1);
  return 2;
}
#endif
