"""scripts/fleet/slurm on a real Slurm of ten nodes, of which nine have a fault: each gets its word, none is
lost and none is counted twice. The nodes share one machine, so their checks take turns at it."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from lab import PROGRAMS, SCRIPTS, Lab, main, programs_that_lack

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "matrix"))
import libraries  # noqa: E402

HWPROF = os.environ["HWPROF"]
PATIENCE = 120  # of checks that take 2 s each on an idle machine

# Before a task starts, as a site sets what its programs get.
TASK_PROLOG = """#!/bin/sh
[ -z "$FROM_SUBMITTER" ] || touch {lab}/leaked
for name in $(env | grep -o -E '^(OPENBLAS|OMP|GOTO)_[A-Z0-9_]*'); do echo "unset $name"; done
echo "export LD_LIBRARY_PATH={blas}"
echo "export PATH={lab}/on/$SLURMD_NODENAME:{lab}/bin:$PATH"
[ -z "{core}" ] || echo "export OPENBLAS_CORETYPE={core}"
[ "$SLURMD_NODENAME" != node3 ] || echo "export OPENBLAS_CORETYPE=Prescott"
"""
# slurmd starts health checks with nearly no environment.
HEALTH = """#!/bin/sh
export PATH={lab}/on/$SLURMD_NODENAME:{lab}/bin:{path} LD_LIBRARY_PATH={blas} SLURM_CONF={lab}/slurm.conf
[ -e {lab}/health-on ] && [ -e {lab}/health/$SLURMD_NODENAME ] || exit 0
[ -z "{core}" ] || export OPENBLAS_CORETYPE={core}
[ "$SLURMD_NODENAME" != node3 ] || export OPENBLAS_CORETYPE=Prescott
{scripts}/slurm-health
echo "$?" >{lab}/health-done/$SLURMD_NODENAME
"""
HWPROF_THERE = "#!/bin/sh\nexec flock {lab}/turn {hwprof} \"$@\"\n"
# For check: --run-id RUN --out DIR, as scripts/fleet/check.sbatch has it.
FAULTS = {
    # What a tool leaves that does not rename, or a file server that was full.
    "node8": "#!/bin/sh\nmkdir -p {lab}/aside && {lab}/bin/hwprof check --run-id $3 --out {lab}/aside --quick\n"
             "head -c 700 {lab}/aside/node8@$3.json >$5/node8@$3.json\n",
    "node9": "#!/bin/sh\nexport LD_PRELOAD={ahead} ASAN_OPTIONS=verify_asan_link_order=0\nexec {lab}/bin/hwprof \"$@\"\n",
    "node10": "#!/bin/sh\n{lab}/bin/hwprof \"$@\"; code=$?\n"
              "sed -i '0,/\"version\": \"[^\"]*\"/s//\"version\": \"0.0.9\"/' $5/node10@$3.json; exit $code\n",
    # It writes nothing, and does not end by itself: as on a file server that does not answer.
    "node7": "#!/bin/sh\ntouch {lab}/hangs; exec sleep 600\n",
}


def blas_folder(package=libraries.OPENBLAS):
    try:
        return str(libraries.fleet_folder(libraries.default_root(), package))
    except libraries.Missing as missing:
        raise unittest.SkipTest("%s (scripts/setup fleet)" % missing) from missing


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


class Faults(unittest.TestCase):
    """One cluster for all: its runs are made once, its tests look at what came out."""

    @classmethod
    def setUpClass(cls):
        blas = blas_folder()
        entering = {"node4": (sys.executable, str(HERE / "without_perf.py"))}
        if can_mount():
            entering["node2"] = ("unshare", "--mount", "sh", "-c",
                                 'mount --bind "$0" "$1" && shift && exec "$@"', blas_folder(libraries.SERIAL), blas)
        cls.lab = Lab(10, entering=entering)
        core = libraries.widest_core()
        cls.site = {"OPENBLAS_CORETYPE": core} if core else {}
        cls.addClassCleanup(cls.lab.stop)
        lab, known = cls.lab, {"lab": cls.lab.folder, "blas": blas, "hwprof": HWPROF, "scripts": SCRIPTS,
                               "ahead": os.environ["AHEAD"], "core": core, "path": cls.lab.environment["PATH"]}
        lab.more = "HealthCheckProgram=%s\nHealthCheckInterval=3600\nHealthCheckNodeState=IDLE" % lab.write(
            "health-program", HEALTH.format(**known), 0o755)
        lab.write("task-prolog", TASK_PROLOG.format(**known), 0o755)
        lab.write("bin/hwprof", HWPROF_THERE.format(**known), 0o755)
        for node, script in FAULTS.items():
            lab.write("on/%s/hwprof" % node, script.format(**known), 0o755)
        lab.environment["PATH"] = lab.path("bin") + ":" + lab.environment["PATH"]
        lab.environment["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
        for name in ("records", "health", "health-done"):
            os.mkdir(lab.path(name))
        lab.start()
        lab.run("scontrol", "update", "NodeName=node5", "State=DRAIN", "Reason=dimm errors")
        lab.kill_node("node6")
        cls.run_all()

    @classmethod
    def recipe(cls, *words, **changes):
        # As a submitter's shell has it, which is not to reach the nodes.
        environment = {**cls.lab.environment, "FROM_SUBMITTER": "1", **changes}
        return subprocess.Popen([SCRIPTS / "slurm", *words, cls.lab.path("records"), "--quick"], cwd=cls.lab.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment)

    @classmethod
    def ended(cls, recipe):
        try:
            return (*recipe.communicate(timeout=PATIENCE), recipe.returncode)
        except subprocess.TimeoutExpired:
            raise AssertionError("it does not end; jobs: %s; states: %s" % (
                cls.lab.run("squeue", "-h", "-o", "%j %n %T %r").stdout, cls.lab.states())) from None

    @classmethod
    def run_all(cls):
        lab = cls.lab
        # Two runs at once in one folder.
        first = cls.recipe("--run-id", "r1", "--nodes", "node[1-6,8-10]", "--output", lab.path("r1.html"))
        second = cls.recipe("--run-id", "r2", "--nodes", "node[1,4]", "--output", lab.path("r2.html"))
        cls.first, cls.second = cls.ended(first), cls.ended(second)
        # The hanging one, for as long as it is wanted; behind it a job that does not get to run.
        hanging = cls.recipe("--run-id", "r1", "--nodes", "node7")
        lab.wait_for("node7 hangs", lambda: os.path.exists(lab.path("hangs")))
        behind = cls.recipe("--run-id", "r3", "--nodes", "node7", "--wait", "1")
        cls.behind = cls.ended(behind)
        hanging.send_signal(signal.SIGTERM)
        cls.ended(hanging)
        lab.wait_for("no job is left", lambda: lab.run("squeue", "-h", "-o", "%n").stdout.split() in ([], ["node6"]))
        lab.wait_for("node6 is down", lambda: lab.states()["node6"] == "down*")
        cls.merged, cls.other = cls.merge("r1"), cls.merge("r2")
        cls.hosts = {host["host"]: host for host in cls.merged["hosts"]}
        cls.names = sorted(os.listdir(lab.path("records")))

    @classmethod
    def merge(cls, run):
        listed = "\n".join(sorted(set(cls.lab.run("sinfo", "-N", "-h", "-o", "%N|%T|%E").stdout.splitlines())))
        done = cls.lab.run("hwprof", "fleet", "merge", "--expected", cls.lab.write("list", listed), "--run-id", run,
                           "--json", cls.lab.path("records"))
        merged = json.loads(done.stdout)
        assert merged["exit"] == done.returncode, (merged["exit"], done.returncode)
        return merged

    def record(self, node, run="r1"):
        with open(self.lab.path("records", "%s@%s.json" % (node, run))) as file:
            return json.load(file)

    def assert_checked(self, host):
        """It has a record, and its word is that of the record. What that is depends on the CPU and the load."""
        self.assertIn(host["verdict"], ("optimal", "borderline", "suboptimal", "inconclusive"), host)
        record = self.record(host["host"], host["run_id"])
        self.assertEqual((host["state"], record["host"]), (record["outcome"], host["host"]))
        self.assertEqual(record["blas"]["environment"], self.site)
        self.assertTrue(record["blas"]["results"]["right"])

    def test_each_node_is_counted_once(self):
        self.assertEqual(sorted(self.hosts), sorted(self.lab.names))
        self.assertEqual(len(self.merged["hosts"]), 10)
        self.assertEqual(sum(self.merged["counts"].values()), 10)
        self.assertEqual((self.merged["unexpected"], self.merged["foreign"]), ([], []))
        fails = self.merged["counts"]["fail"]
        self.assertEqual(self.merged["exit"], 1 if fails else 3)

    def test_each_run_has_a_whole_record_of_each_of_its_nodes(self):
        self.assertFalse(os.path.exists(self.lab.path("leaked")), "the submitter's environment")
        self.assertEqual(self.names, sorted(["node%d@r1.json" % i for i in (1, 2, 3, 4, 8, 9, 10)] +
                                            ["node1@r2.json", "node4@r2.json"]))
        other = {host["host"]: host for host in self.other["hosts"]}
        for node in ("node1", "node4"):
            self.assert_checked(other[node])
        self.assertEqual({other[node]["state"] for node in ("node2", "node3", "node9", "node10")}, {"stale"})

    def test_the_recipe_ends_in_the_merge(self):
        out, err, code = self.first
        self.assertEqual(code, 1 if self.merged["counts"]["fail"] else 3, out + err)
        with open(self.lab.path("r1.html")) as file:
            page = file.read()
        self.assertIn("hwprof fleet: run r1", page)
        self.assertIn("dimm errors", page)
        out, err, code = self.second
        self.assertEqual(code, {"pass": 0, "fail": 1, "unknown": 3}[
            max((self.record(node, "r2")["outcome"] for node in ("node1", "node4")),
                key=["pass", "unknown", "fail"].index)], out + err)

    def test_a_good_node(self):
        self.assert_checked(self.hosts["node1"])

    def test_a_serial_library_in_the_place_of_the_threaded_one(self):
        if "node2" not in self.lab.entering:
            self.skipTest("no mount namespaces here (they need root)")
        host = self.hosts["node2"]
        self.assertEqual(self.record("node2")["blas"]["threading"], "single-threaded")
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("on one CPU it is as good as any")
        self.assertEqual(host["state"], "fail", host)
        self.assertIn("single-threaded", host["reason"])

    def test_a_core_type_that_the_task_prolog_forces(self):
        self.assertEqual(self.record("node3")["blas"]["environment"], {"OPENBLAS_CORETYPE": "Prescott"})
        if not self.site:
            self.skipTest("no CPU that Prescott's kernels would be bad on")
        self.assertEqual(self.hosts["node3"]["state"], "fail", self.hosts["node3"])
        self.assertEqual(self.hosts["node3"]["core"], "Prescott")
        odd = [same for same in self.merged["bits"] if "node3" in same["hosts"]]
        self.assertEqual([same["hosts"] for same in odd], [["node3"]])

    def test_a_filter_that_refuses_perf_event_open_is_no_fault_of_the_blas(self):
        status = pathlib.Path("/proc/%d/status" % self.lab.daemons["node4"].pid).read_text()
        self.assertIn("Seccomp:\t2\n", status)
        self.assert_checked(self.hosts["node4"])

    def test_a_drained_node_says_why(self):
        self.assertEqual(self.hosts["node5"]["state"], "unavailable")
        self.assertEqual(self.hosts["node5"]["reason"], "drained: dimm errors")

    def test_a_node_that_was_killed_keeps_no_one_waiting(self):
        self.assertEqual(self.hosts["node6"]["state"], "unavailable")
        self.assertEqual(self.hosts["node6"]["reason"], "down*: Not responding")

    def test_a_hanging_node_has_no_record(self):
        self.assertEqual(self.hosts["node7"]["state"], "no_record")
        out, err, code = self.behind
        self.assertEqual(code, 3, out + err)
        self.assertIn("cancelled after 1 s: node7 (PENDING)", err)

    def test_half_a_record(self):
        self.assertEqual(self.hosts["node8"]["state"], "unreadable")
        self.assertIn("node8@r1.json", self.hosts["node8"]["reason"])

    def test_a_wrong_clock(self):
        self.assert_checked(self.hosts["node9"])
        self.assertTrue(any("one clock is wrong" in note for note in self.hosts["node9"]["notes"]))
        self.assertFalse(any("clock" in note for note in self.hosts["node1"]["notes"]))

    def test_an_older_hwprof(self):
        self.assert_checked(self.hosts["node10"])
        self.assertIn("checked by hwprof 0.0.9, most by %s" % self.record("node1")["hwprof"]["version"],
                      self.hosts["node10"]["notes"])

    def test_a_health_check_drains_for_a_failed_verdict_alone(self):
        lab = self.lab
        lab.write("on/node9/hwprof", "#!/bin/sh\necho verdict=inconclusive; exit 3\n", 0o755)
        lab.write("on/node10/hwprof", "#!/bin/sh\nkill -9 $$\n", 0o755)
        lab.write("on/node8/hwprof", "#!/bin/sh\necho verdict=unoptimised factor=3; exit 1\n", 0o755)
        nodes = ("node3", "node8", "node9", "node10")
        for node in nodes:
            lab.write("health/" + node, "")
        lab.write("health-on", "")
        # From now on: checks of a node that was killed would keep Slurm from finding it down.
        configuration = pathlib.Path(lab.path("slurm.conf")).read_text()
        lab.write("slurm.conf", configuration.replace("HealthCheckInterval=3600", "HealthCheckInterval=1"))
        done = lab.run("scontrol", "reconfigure")
        self.assertEqual(done.returncode, 0, done.stderr)
        lab.wait_for("each node had its health check",
                     lambda: set(os.listdir(lab.path("health-done"))) >= set(nodes), PATIENCE)
        os.remove(lab.path("health-on"))
        for node in nodes:
            self.assertEqual(pathlib.Path(lab.path("health-done", node)).read_text(), "0\n")
        states = lab.states()
        self.assertEqual([states[node] for node in ("node8", "node9", "node10")], ["drained", "idle", "idle"])
        reason = lab.run("sinfo", "-N", "-h", "-n", "node8", "-o", "%E").stdout.strip()
        self.assertEqual(reason, "hwprof: verdict=unoptimised factor=3")
        self.assertEqual(states["node3"], "drained" if self.hosts["node3"]["state"] == "fail" else "idle")


if __name__ == "__main__":
    main(programs_that_lack(*PROGRAMS))
