"""Files that are written over, or get the inode number of another, while hwprof watches by uprobes."""

import shutil

import harness
from coverage_harness import BY_UPROBES, CoverageTest, called, count, needs_uprobes

# A library that is made, loaded, left and deleted; then another: WITHOUT PRODUCT FILE TIMES. Says
# whether the second had the inode of the first.
MAKES_LIBRARIES = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static unsigned long copy(const char* from, const char* to) {
  char bytes[65536];
  struct stat status;
  int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
  ssize_t some;
  while ((some = read(in, bytes, sizeof bytes)) > 0) if (write(out, bytes, some) != some) exit(8);
  fstat(out, &status);
  close(in);
  close(out);
  return status.st_ino;
}
int main(int count, char** words) {
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const float one = 1, zero = 0;
  unsigned long first = copy(words[1], words[3]);
  void* library = dlopen(words[3], RTLD_NOW);
  usleep(300000);
  dlclose(library);
  unlink(words[3]);
  printf("%s\n", copy(words[2], words[3]) == first ? "same" : "another");
  library = dlopen(words[3], RTLD_NOW);
  if (!library) return 9;
  usleep(300000);
  void (*sgemm)() = (void (*)())dlsym(library, "sgemm_");
  for (int i = 0; i < atoi(words[4]); ++i)
    sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 0;
}
"""
WITHOUT_PRODUCT = "int nothing(void) { return 7; }"
# Long enough to lie where PRODUCT had its routine, and of no value where one instruction is another.
STEPS = 1500
CHAIN = "unsigned chain(unsigned a) { %s return a; }" % " ".join(
    "a = a * 16777619u ^ %du;" % step for step in range(STEPS))
USES_CHAIN = r"""
#include <dlfcn.h>
int main(int count, char** words) {
  unsigned (*chain)(unsigned) = (unsigned (*)(unsigned))dlsym(dlopen(words[1], RTLD_NOW), "chain");
  unsigned a = 5;
  for (unsigned i = 0; i < %du; ++i) a = a * 16777619u ^ i;
  return !chain ? 9 : chain(5) != a;
}
""" % STEPS


class Rewritten(CoverageTest):
    @needs_uprobes
    def test_a_file_with_the_inode_number_of_another(self):
        """A program that compiles libraries and loads them."""
        program = self.compile("makes", MAKES_LIBRARIES, "-ldl")
        without = self.compile("libwithout.so", WITHOUT_PRODUCT, "-shared", "-fPIC")
        done, report = self.observe(program, without, self.library, self.path("made.so"), "300",
                                    options=BY_UPROBES)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "same" not in done.stdout:
            self.skipTest("this file system did not give the number again")
        self.assertEqual(count(report), 300, called(report))

    @needs_uprobes
    def test_a_library_that_is_written_over_another(self):
        """In place, while no process has it: by cp, rsync --inplace, some linkers."""
        without = self.compile("libwithout.so", WITHOUT_PRODUCT, "-shared", "-fPIC")
        for number, (more, least) in enumerate([("", 0), ("; sleep 0.3; \"$CALLS\" %s 7", 7)]):
            with self.subTest(more):
                written = self.path("written%d.so" % number)
                more = more and more % written
                done, report = self.observe(
                    "sh", "-c", "cp %s %s; \"$CALLS\" %s 0; sleep 0.3; cp \"$LIBRARY\" %s; "
                    "\"$CALLS\" %s 5%s" % (without, written, written, written, written, more),
                    options=BY_UPROBES, env=self.hidden())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreaterEqual(count(report), least, called(report))
                self.check_not_denied(report)
                self.assertLess(called(report)["executions_watched"], called(report)["executions"])

    @needs_uprobes
    def test_other_libraries_written_in_place_leave_nothing_open(self):
        """What changed before a program loaded it is known whole."""
        without = self.compile("libwithout.so", WITHOUT_PRODUCT, "-shared", "-fPIC")
        run = "\"$CALLS\" %s 0" % self.path("written.so")
        _, report = self.observe(
            "sh", "-c", "for i in 1 2 3; do cp %s %s; sleep 0.1; %s; sleep 0.1; done" % (
                without, self.path("written.so"), run), options=BY_UPROBES, env=self.hidden())
        self.assertEqual(called(report)["executions_watched"], called(report)["executions"])

    @needs_uprobes
    def test_a_watched_library_that_is_written_over(self):
        """The kernel would run the instruction that was there before, in a program that is sound."""
        chain = self.compile("libchain.so", CHAIN, "-shared", "-fPIC")
        uses = self.compile("uses", USES_CHAIN, "-ldl")
        written = self.path("written.so")
        run = "\"$CALLS\" %s 5 >/dev/null; sleep 0.3; " % written
        done, report = self.observe(
            "sh", "-c", "cp \"$LIBRARY\" %s; %s %s cp %s %s; sleep 1; exec %s %s" % (
                written, run, run, chain, written, uses, written),
            options=BY_UPROBES, env=self.hidden())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(count(report), 5)
        self.assertLess(called(report)["executions_watched"], called(report)["executions"])
        self.assertIn("written to", " ".join(called(report)["blind_to"]))

    @needs_uprobes
    def test_another_library_beside_one_that_is_written_over(self):
        """Both are known before the program starts, and share their events: it stays watched."""
        chain = self.compile("libchain.so", CHAIN, "-shared", "-fPIC")
        written = self.path("libwritten.so")
        shutil.copy(self.library, written)
        done, report = self.observe(
            "sh", "-c", '"$1" "$2" 5; cp "$3" "$4"; sleep 1; "$1" "$2" 7', "sh",
            self.program, self.library, chain, written, options=BY_UPROBES)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(count(report), 12, called(report))
        self.assertLess(called(report)["executions_watched"], called(report)["executions"])
        self.assertIn("libwritten.so was written to", " ".join(called(report)["blind_to"]))


if __name__ == "__main__":
    harness.main()
