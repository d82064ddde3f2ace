"""What hwprof leaves behind in the system: nothing, killed or not."""

import os
import signal
import time

import harness
from evidence_harness import needs_caller, needs_root
from leftovers_harness import LeftoversTest

# Starts of the test on leftovers; every fifth is killed.
STARTS = int(os.environ.get("HWPROF_TEST_STARTS", "20"))


@needs_caller
class Leftovers(LeftoversTest):
    """After many runs, some of them killed in the middle, nothing of ours is in the system."""

    def check(self, **more):
        killed = 0
        for number in range(STARTS + 1):
            child = self.start(**more)
            if number % 5 == 4:
                # In turn while it prepares, while the command waits, and while it runs.
                if killed % 2 == 0:
                    self.assertEqual(child.stdout.readline(), b"up\n")
                else:
                    time.sleep(0.004 * (killed % 16))
                child.send_signal(signal.SIGKILL)
                killed += 1
                child.stdout.read()  # until the command, which goes on, has ended
                child.stdout.close()
                self.assertEqual(child.wait(), -signal.SIGKILL)
                self.wait_for_workers()
            else:
                out = child.communicate(timeout=120)[0]
                self.assertEqual(child.returncode, 0)
                self.assertTrue(out.startswith(b"up\n"))
        self.assertEqual(killed, STARTS // 5)
        # The last start was a whole one.
        self.assert_nothing_left()

    def test_nothing_is_left(self):
        self.check()

    @needs_root
    def test_nobody_leaves_nothing(self):
        self.check(**self.as_nobody())


if __name__ == "__main__":
    harness.main()
