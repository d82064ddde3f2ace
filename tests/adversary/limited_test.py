"""Programs that leave LD_AUDIT little to work with: few system calls, a small stack."""

import harness
from coverage_harness import CoverageTest, called, count

LIMITED = r"""
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
void sgemm_();
static struct sock_filter filter[] = {
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
int main(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  int n = 16;
  const float one = 1, zero = 0;
  if (CALLS_BEFORE)
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0 || (LIMIT) != 0) return 77;
  for (int i = 0; i < 50; ++i) sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  if (write(1, "done\n", 5) != 5) return 9;
  syscall(SYS_exit, 7);
}
"""
WAYS = {
    "strict": "prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0)",
    "prctl": "prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)",
    "seccomp": "syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)",
    "syscall": "syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)",
}

# A routine whose arguments hwprof does not count, called on a stack that ends right above them.
BANDED = r"""
void dgbmv_(const char* t, const int* m, const int* n, const int* kl, const int* ku,
            const double* alpha, const double* a, const int* lda, const double* x, const int* incx,
            const double* beta, double* y, const int* incy) {
  y[0] = *alpha * a[0] * x[0] + *beta * *incy;
}
"""
COROUTINE = r"""
#define _GNU_SOURCE
#include <sys/mman.h>
#include <ucontext.h>
void dgbmv_(const char*, const int*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
static ucontext_t first, other;
static int n = 4, k = 1, ld = 3, one = 1;
static double alpha = 1, a[12] = {2}, x[4] = {3}, y[4], beta = 1;
static void run(void) {
  dgbmv_("N", &n, &n, &k, &k, &alpha, a, &ld, x, &one, &beta, y, &one);
}
int main(void) {
  const unsigned long size = 1 << 18;
  char* stack = mmap(0, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mprotect(stack + 4096, size, PROT_READ | PROT_WRITE) != 0) return 9;
  for (int unused = 0; unused < 4096; unused += 16) {
    // The neighbour above comes and goes.
    const int above = unused % 32 == 0 ? PROT_READ : PROT_NONE;
    if (mprotect(stack + 4096 + size, 4096, above) != 0) return 9;
    getcontext(&other);
    other.uc_stack.ss_sp = stack + 4096;
    other.uc_stack.ss_size = size - unused;
    other.uc_link = &first;
    makecontext(&other, run, 0);
    y[0] = 0;
    swapcontext(&first, &other);
    if (y[0] != 7) return 8;
  }
  return 7;
}
"""


class Limited(CoverageTest):
    def test_calls_where_no_system_call_is_allowed(self):
        for way, limit in WAYS.items():
            for before, plt in [(0, "-fplt"), (1, "-fplt"), (0, "-fno-plt"), (1, "-fno-plt")]:
                with self.subTest([way, before, plt]):
                    program = self.compile("limited", LIMITED, "-w", "-DLIMIT=" + limit, plt,
                                           "-DCALLS_BEFORE=%d" % before, *self.needing(self.library))
                    done, report = self.observe(program, **self.more())
                    if done.returncode == 77:
                        self.skipTest("the kernel has no filters")
                    self.assertEqual(done.returncode, 7, done.stderr)
                    self.assertEqual(done.stdout, "done\n")
                    self.assertEqual(count(report), 50 + before, called(report))
                    timed = [site["time_ns"] for site in called(report)["calls"]]
                    # The strict mode takes the clock of the CPU as well.
                    self.assertTrue(way == "strict" or timed[0] > 0, called(report))

    def test_questions_about_filters(self):
        """As libseccomp asks what the kernel knows; they limit nothing."""
        for limit in ["syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, 0) + 1",
                      "syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0) + 1",
                      "prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0, 0, 0) + 1"]:
            with self.subTest(limit):
                program = self.compile("asks", LIMITED, "-w", "-DLIMIT=" + limit,
                                       "-DCALLS_BEFORE=0", *self.needing(self.library))
                done, report = self.observe(program, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(count(report), 50, called(report))
                self.assertIsNotNone(called(report)["calls"][0]["shapes"][0]["time_ns"],
                                     called(report))

    def test_a_stack_that_ends_above_the_arguments(self):
        """They lie in one page or in two, and above them is nothing, or nothing any more."""
        library = self.compile("libbanded.so", BANDED, "-shared", "-fPIC")
        program = self.compile("coroutine", COROUTINE, *self.needing(library))
        done, report = self.observe(program, **self.more())
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(count(report, "dgbmv_"), 256, called(report))

    def test_other_uses_of_system_calls(self):
        """They pass as they are: results, errors, and a process made by hand."""
        program = self.compile("uses", r"""
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void child_of_ours(void) { _exit(5); }
int main(void) {
  char name[16] = "";
  int status = 0;
  if (prctl(PR_SET_NAME, "named", 0, 0, 0) != 0 || prctl(PR_GET_NAME, name) != 0) return 1;
  if (strcmp(name, "named") != 0 || syscall(SYS_getpid) != getpid()) return 2;
  if (syscall(SYS_close, -1) != -1 || errno != EBADF) return 3;
  if (prctl(-1, 0, 0, 0, 0) != -1 || errno != EINVAL) return 4;
#ifdef __x86_64__
  static long stack[512];
  stack[500] = (long)child_of_ours;  // where the child returns to
  const long child = syscall(SYS_clone, CLONE_VM | SIGCHLD, stack + 500, 0, 0, 0);
#else
  const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(5);
#endif
  if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5) return 6;
  return 7;
}
""")
        done, _ = self.observe(program, **self.more())
        self.assertEqual(done.returncode, 7, done.stderr)


if __name__ == "__main__":
    harness.main()
