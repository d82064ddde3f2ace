"""libhwprof inside a program that its author, not ours, wrote: it must not harm it."""

import json
import os
import subprocess

from evidence_harness import EvidenceTest, needs_root, nobody
import harness

LIBRARY = os.environ["HWPROF_LIBRARY"]
HEADERS = os.environ["HWPROF_HEADERS"]

CLEARS = r"""
#include <stdlib.h>
#include "counters/regions/hwprof.h"
int main(void) {
  hwprof_leave(hwprof_enter("work"));
  clearenv();
  return 0;
}
"""
# The first key is another library's: of the program, here, which tells nobody.
FORKS = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "counters/regions/hwprof.h"
int main(int count, char** words) {
  pthread_key_t key;
  int status = 0;
  if (count > 100) hwprof_leave(hwprof_enter(words[0]));
  if (pthread_key_create(&key, NULL) != 0 || key != 0) return 77;
  pthread_setspecific(key, "mine");
  if (fork() == 0) _exit(pthread_getspecific(key) == NULL ? 1 : 0);
  wait(&status);
  return WEXITSTATUS(status);
}
"""
WORKS = r"""
#include "counters/regions/hwprof.h"
int main(void) {
  hwprof_leave(hwprof_enter("work"));
  return 0;
}
"""
# Without regions: no file, nothing said.
LINKS = r"""
#include "counters/regions/hwprof.h"
int main(int count, char** words) { return count > 100 ? (int)hwprof_enter(words[0]) : 0; }
"""


class Library(EvidenceTest):
    def build(self, name, source):
        folder = os.path.dirname(LIBRARY)
        return self.compile(name, source, "-I" + HEADERS, "-Wl,--no-as-needed", LIBRARY,
                            "-Wl,-rpath," + folder, "-pthread")

    def run_it(self, program, **variables):
        return subprocess.run([program], capture_output=True, text=True, timeout=60,
                              env=harness.environment(**variables))

    def test_a_program_that_clears_its_environment(self):
        report = self.path("regions.json")
        done = self.run_it(self.build("clears", CLEARS), HWPROF_REGIONS=report)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(report) as file:
            self.assertEqual(json.load(file)["regions"][0]["path"], ["work"])

    def test_a_fork_without_regions_touches_nothing(self):
        done = self.run_it(self.build("forks", FORKS))
        if done.returncode == 77:
            self.skipTest("the first key is somebody else's")
        self.assertEqual(done.returncode, 0, "the child has lost what another library kept")

    def test_a_program_without_regions_writes_nothing(self):
        report = self.path("regions.json")
        done = self.run_it(self.build("links", LINKS), HWPROF_REGIONS=report, HWPROF_TRACE=report,
                           HWPROF_EVENTS="no-such-event")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertFalse(os.path.exists(report))

    @needs_root
    def test_a_setuid_program_obeys_no_variable(self):
        program = self.build("works", WORKS)
        os.chmod(program, 0o4755)
        report = self.path("planted.json")
        done = subprocess.run([program], capture_output=True, text=True, timeout=60,
                              env=harness.environment(HWPROF_REGIONS=report), **nobody())
        if done.returncode != 0:
            self.skipTest("nobody cannot run it: " + done.stderr)
        self.assertFalse(os.path.exists(report), "a file of root's, made by nobody's variable")

    def test_a_limit_on_files_ends_no_program(self):
        report = self.path("regions.json")
        program = self.build("works", WORKS)
        done = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$0"', program], capture_output=True,
                              text=True, env=harness.environment(HWPROF_REGIONS=report))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if "hwprof" in name], [])


if __name__ == "__main__":
    harness.main()
