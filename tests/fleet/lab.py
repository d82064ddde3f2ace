"""A cluster on one machine: a real slurmctld, a slurmd a node, munged; in a folder and with ports of its own.

Nothing under /etc, no systemd, no cgroups, any user. All daemons end with the lab, and with this process
however it ends: each has it for a parent and gets a signal when it dies.
"""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "fleet"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch", "squeue", "scontrol", "flock")
PATH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PATIENCE = 60  # of a state that comes within a second or two on an idle machine

CONFIGURATION = """
ClusterName=hwprof
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
PlugStackConfig=/dev/null
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={folder}/task-prolog
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout=15
KillWait=1
MessageTimeout=10
TCPTimeout=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,sched_min_interval=100000,batch_sched_delay=0
{more}
{nodes}
PartitionName=lab Nodes=ALL Default=YES MaxTime=10 State=UP
"""


class Missing(Exception):
    """What the lab needs is not there."""


def programs_that_lack(*names):
    return [name for name in names if not shutil.which(name, path=PATH)]


def need_programs():
    missing = programs_that_lack(*PROGRAMS)
    if missing:
        raise Missing("no %s" % ", ".join(missing))


def die_with_parent():
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_children():
    """Also those whose parents ended before: a job's, which Slurm keeps on purpose when its slurmd ends."""
    while True:
        with open("/proc/self/task/%d/children" % threading.main_thread().native_id) as file:
            children = [int(child) for child in file.read().split()]
        if not children:
            return
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def free_ports(count):
    """That no one listens on now."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class Lab:
    def __init__(self, nodes, more="", environment=None, entering=None):
        """`entering`: {node: words that stand before its slurmd}. Nodes are node1, node2 and so on."""
        need_programs()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.names = ["node%d" % (i + 1) for i in range(nodes)]
        self.more = more
        self.entering = entering or {}
        self.daemons = {}
        self.folder = tempfile.mkdtemp(prefix="hwprof-lab-")
        self.environment = {"PATH": PATH, "SLURM_CONF": self.path("slurm.conf"), "LANG": "C.UTF-8",
                            **(environment or {})}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        os.chmod(self.folder, 0o755)
        port, *ports = free_ports(1 + len(self.names))
        cpus = len(os.sched_getaffinity(0))
        for name in ("state", *("spool/" + node for node in self.names)):
            os.makedirs(self.path(name))
        os.mkdir(self.path("munge"), 0o711)
        self.write("munge/key", os.urandom(64).hex(), 0o600)
        if not os.path.exists(self.path("task-prolog")):
            self.write("task-prolog", "#!/bin/sh\n", 0o755)
        self.write("slurm.conf", CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], port=port, user=pwd.getpwuid(os.geteuid()).pw_name,
            folder=self.folder, more=self.more,
            nodes="\n".join("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d RealMemory=1" % (
                node, socket.gethostname().split(".")[0], at, cpus) for node, at in zip(self.names, ports))))
        self.daemon("munged", "munged", "--foreground", "--force", "--key-file", self.path("munge/key"),
                    "--socket", self.path("munge/socket"), "--pid-file", self.path("munge/pid"),
                    "--seed-file", self.path("munge/seed"), "--log-file", self.path("munge/log"), "--num-threads=2")
        self.wait_for("munged listens", lambda: os.path.exists(self.path("munge/socket")))
        self.daemon("slurmctld", "slurmctld", "-D", "-i", "-f", self.path("slurm.conf"))
        for node in self.names:
            self.start_node(node)
        self.wait_for("all nodes are idle",
                      lambda: set(self.states().values()) == {"idle"} and len(self.states()) == len(self.names))

    def start_node(self, node):
        self.daemon(node, *self.entering.get(node, ()), "slurmd", "-D", "-N", node, "-f", self.path("slurm.conf"))

    def daemon(self, name, *command):
        with open(self.path(name + ".log"), "a") as log:
            self.daemons[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                  env=self.environment, preexec_fn=die_with_parent)

    def kill_node(self, node):
        self.daemons[node].kill()
        self.daemons[node].wait()

    def stop(self):
        """The nodes first: slurmctld would wait for them."""
        for name in sorted(self.daemons, key=lambda name: (name in ("slurmctld", "munged"), name == "munged")):
            daemon = self.daemons[name]
            daemon.terminate()
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        end_children()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *command, timeout=PATIENCE, **changes):
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                              env={**self.environment, **changes}, cwd=self.folder)

    def states(self):
        """{node: state}, as the controller sees them."""
        done = self.run("sinfo", "-N", "-h", "-o", "%N|%T")
        return dict(line.split("|") for line in sorted(set(done.stdout.split()))) if done.returncode == 0 else {}

    def wait_for(self, what, holds, patience=PATIENCE):
        end = time.monotonic() + patience
        while not holds():
            for name, daemon in self.daemons.items():
                if daemon.poll() not in (None, -signal.SIGKILL):
                    raise AssertionError("%s ended:\n%s" % (name, self.log(name)))
            if time.monotonic() > end:
                raise AssertionError("%s: not within %d s; states %s\n%s" % (
                    what, patience, self.states(), self.log("slurmctld")))
            time.sleep(0.1)

    def log(self, name):
        with open(self.path(name + ".log"), errors="replace") as log:
            return log.read()[-3000:]


def stop_at_sigterm(*_):
    sys.exit("ended by SIGTERM")


def main(missing):
    """unittest's, but skipped as a whole, with the reason, without the programs of `missing`."""
    signal.signal(signal.SIGTERM, stop_at_sigterm)
    if missing:
        print("skipped: no %s (scripts/setup fleet)" % ", ".join(missing))
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
