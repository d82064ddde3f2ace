"""scripts/fleet/clush with the real ClusterShell: hosts are UTS namespaces of this machine, and what stands in
for ssh enters one of them."""

import os
import re
import subprocess
import tempfile
import unittest

from lab import PATH, SCRIPTS, main, programs_that_lack
from slurm_test import HWPROF, blas_folder

# ssh -oOPTION... HOST COMMAND. lab3 is down, lab4 hangs until the others are done.
SSH = """#!/bin/sh
for word; do host=$command command=$word; done
case $host in
  lab3) echo "ssh: connect to host lab3 port 22: No route to host" >&2; exit 255 ;;
  lab4) until [ -e {folder}/records/lab1@*.json ] && [ -e {folder}/records/lab2@*.json ]; do sleep 0.1; done
        exit 255 ;;
esac
exec {unshare} sh -c 'hostname "$0" && exec flock {folder}/turn sh -c "$1"' "$host" "$command"
"""


def entering():
    """Words that give a program a host name of its own, or None."""
    for words in (["unshare", "--uts"], ["unshare", "--user", "--map-root-user", "--uts"]):
        if subprocess.run([*words, "hostname", "x"], capture_output=True).returncode == 0:
            return words
    return None


class Clush(unittest.TestCase):
    def setUp(self):
        words = entering()
        if words is None:
            self.skipTest("no UTS namespaces here, so no hosts")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("ssh", SSH.format(unshare=" ".join(words), folder=self.folder), 0o755)
        self.write("clush.conf", "[Main]\nssh_path: %s/ssh\nfanout: 8\n" % self.folder)
        self.write("bin/hwprof", "#!/bin/sh\nexec %s \"$@\"\n" % HWPROF, 0o755)
        os.mkdir(os.path.join(self.folder, "records"))

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def recipe(self, *words):
        libraries = ":".join(filter(None, [blas_folder(), os.environ.get("LD_LIBRARY_PATH")]))
        return subprocess.run([SCRIPTS / "clush", *words], capture_output=True, text=True, timeout=240, env={
            "PATH": "%s/bin:%s" % (self.folder, PATH), "LD_LIBRARY_PATH": libraries, "LANG": "C.UTF-8",
            "CLUSTERSHELL_CFGDIR": self.folder, "HOME": self.folder})

    def test_each_host_has_its_word(self):
        done = self.recipe("lab[1-4]", self.folder + "/records", "--format", "csv")
        rows = dict(line.split(",")[:2] for line in done.stdout.splitlines()[1:])
        self.assertEqual(sorted(rows), ["lab1", "lab2", "lab3", "lab4"], done.stderr)
        for host in ("lab1", "lab2"):
            self.assertIn(rows[host], ("pass", "fail", "unknown"), done.stderr)
        self.assertEqual((rows["lab3"], rows["lab4"]), ("no_record", "no_record"))
        self.assertEqual(done.returncode, 1 if "fail" in rows.values() else 3)
        self.assertEqual(sorted(name.split("@")[0] for name in os.listdir(self.folder + "/records")), ["lab1", "lab2"])

    def test_what_is_asked_wrongly(self):
        done = self.recipe("lab[1-2]")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, re.escape("scripts/fleet/clush HOSTS DIR"))


if __name__ == "__main__":
    main(programs_that_lack("clush", "nodeset", "flock", "unshare"))
