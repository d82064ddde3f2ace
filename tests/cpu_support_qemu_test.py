"""What a real OpenBLAS chooses on CPUs that an emulator makes up, against the table that explains it.

QEMU's user mode emulates CPUID, the arithmetic of the table's older CPUs, and no AVX-512.
"""
import glob
import os
import re
import shutil
import subprocess
import unittest

PROGRAM = os.environ["CHOSEN_CORE"]
QEMU = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
# The folder of an OpenBLAS with a core type for each CPU; see tests/meson.build.
FOLDER = os.environ.get("OPENBLAS", "")
CLEAN = {name: value for name, value in os.environ.items()
         if not re.match(r"(OPENBLAS|GOTO|OMP|NVPL)_", name)}


def version():
    for path in glob.glob(os.path.join(FOLDER, "libopenblas*-r*.so")):
        return tuple(int(part) for part in re.search(r"-r(\d+)\.(\d+)\.(\d+)", path).groups())
    return None


@unittest.skipUnless(QEMU, "qemu-x86_64 is not installed (scripts/setup vm)")
@unittest.skipUnless(FOLDER, "no OpenBLAS at hand")
class Chosen(unittest.TestCase):
    def choice(self, cpu):
        """(core, what is odd about the CPU, why that core)"""
        run = subprocess.run([QEMU, "-cpu", cpu, PROGRAM, os.path.join(FOLDER, "libblas.so.3")],
                             env={**CLEAN, "OPENBLAS_NUM_THREADS": "1",
                                  "LD_LIBRARY_PATH": FOLDER},
                             capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout.split("\n")[:3]

    def test_a_model_that_is_known(self):
        for model, name in ((60, "Haswell"), (94, "Skylake"), (151, "Alder Lake")):
            with self.subTest(name):
                core, odd, why = self.choice(f"Haswell,family=6,model={model}")
                self.assertEqual((core, odd, why), ("Haswell", "", ""))

    def test_models_newer_than_the_library(self):
        if version() != (0, 3, 21):
            self.skipTest(f"the table ends with OpenBLAS 0.3.21, here is {version()}")
        for model, name in ((183, "Raptor Lake"), (190, "Alder Lake-N"), (189, "Lunar Lake"),
                            (198, "Arrow Lake"), (207, "Emerald Rapids")):
            with self.subTest(name):
                core, _, why = self.choice(f"Haswell,family=6,model={model}")
                self.assertEqual(core, "Prescott")
                self.assertRegex(why, rf"^it does not know model {model} \(Intel {name}")

    def test_bits_that_the_hypervisor_hides(self):
        core, odd, why = self.choice("Haswell,-avx2")
        self.assertEqual((core, why), ("Sandybridge", ""))
        self.assertEqual(odd, "the hypervisor hides AVX2, which each Intel Haswell has")
        core, odd, _ = self.choice("EPYC,family=25,model=17")
        self.assertEqual(core, "Zen")
        self.assertEqual(odd, "the hypervisor hides AVX-512, which each AMD Zen 4 has")


if __name__ == "__main__":
    unittest.main()
