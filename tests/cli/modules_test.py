"""`hwprof run --layers`: the modules of PyTorch, and what a Python program notices of it.

No assertion on how long anything takes; times are held against the program's own of the same calls.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import CliTest, environment, hwprof

QUIET = ["--no-ladder", "--no-samples", "--no-counters"]
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def python_with_torch():
    for python in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True,
                                     env=environment()).returncode == 0:
            return python
    return None


def routine_of(primitive):
    return " ".join(filter(None, (primitive["kind"], primitive["direction"])))


TORCH = python_with_torch()
needs_torch = unittest.skipUnless(TORCH, "no Python here has torch")

# A Kim CNN trained on what words licences have, which times its own modules.
KIM = """
import glob, json, sys, time
import torch
from torch import nn

torch.manual_seed(1)
texts = [open(path, errors="replace").read().split() for path in
         sorted(glob.glob("/usr/share/common-licenses/*"))[:8]]
texts = [text for text in texts if len(text) > 60][:4] or [
    [w + str(i % 7) for i in range(400)] for w in "abcd"]
numbers = {}
coded = [torch.tensor([numbers.setdefault(word, len(numbers)) for word in text]) for text in texts]

class Kim(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(numbers), 48)
        self.convs = nn.ModuleList(nn.Conv1d(48, 24, width) for width in (3, 4, 5))
        self.relu = nn.ReLU(inplace=True)
        self.linear = nn.Linear(72, len(texts))
    def forward(self, words):
        x = self.embedding(words).transpose(1, 2)
        return self.linear(torch.cat([self.relu(conv(x)).max(2).values for conv in self.convs], 1))

model, loss_of = Kim(), nn.CrossEntropyLoss()
own, began = {}, {}
for name, module in [*model.named_modules(), ("loss", loss_of)]:
    def before(module, _inputs):
        began[module] = time.perf_counter_ns()
    def after(module, _inputs, _output, name=name):
        calls, ns = own.get(name, (0, 0))
        own[name] = (calls + 1, ns + time.perf_counter_ns() - began[module])
    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)
steps = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    which = torch.randint(len(coded), (16,))
    places = [int(torch.randint(len(coded[i]) - 50, (1,))) for i in which]
    words = torch.stack([coded[i][place:place + 50] for i, place in zip(which, places)])
    loss = loss_of(model(words), which)
    steps.zero_grad()
    loss.backward()
    steps.step()
print("loss %.5f" % loss.item(), type(model).__name__)
with open(sys.argv[1], "w") as file:
    json.dump(own, file)
"""

class Layers(CliTest):
    def run_layers(self, *command, options=(), **changes):
        """The record of a run, and what the command itself did."""
        path = self.path("report.json")
        done = hwprof("run", "--layers", *QUIET, *options, "--format", "json", "-o", path, "--",
                      *command, timeout=600, env=environment(**changes))
        with open(path) as file:
            return json.load(file), done

    def alone(self, *command, **changes):
        return subprocess.run(command, capture_output=True, text=True, env=environment(**changes),
                              timeout=600)

    def assert_as_alone(self, done, alone):
        self.assertEqual(done.stdout, alone.stdout)
        signal = -min(alone.returncode, 0)
        self.assertEqual(done.returncode, 128 + signal if signal else alone.returncode)

    def python(self, text, name="program.py"):
        return [TORCH or sys.executable, self.path(name, text)]

    def notes(self, record):
        return " ".join(record["module_hooks"]["notes"])


@needs_torch
class KimCnn(Layers):
    STEPS = 12

    @classmethod
    def setUpClass(cls):
        test = cls("test_it_runs_as_alone")
        test.setUp()
        cls.addClassCleanup(test.doCleanups)
        own = test.path("own.json")
        program = [*test.python(KIM), own]
        cls.alone_run = test.alone(*program)
        cls.record, cls.done = test.run_layers(*program)
        with open(own) as file:
            cls.own = json.load(file)
        cls.modules = {module["name"]: module for module in cls.record["modules"]}

    def test_it_runs_as_alone(self):
        self.assert_as_alone(self.done, self.alone_run)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)

    def test_every_module_occurs_as_often_as_it_was_called(self):
        for name, (calls, _) in self.own.items():
            shown = {"": "Kim", "loss": "CrossEntropyLoss"}.get(name, name)
            self.assertEqual(self.modules[shown]["occurrence"], calls, name)
            self.assertEqual(self.modules[shown + " backward"]["occurrence"], calls, name)
        self.assertEqual(set(self.modules), {name + way for name in (
            "Kim", "embedding", "convs.0", "convs.1", "convs.2", "relu", "linear",
            "CrossEntropyLoss") for way in ("", " backward")})

    def test_times_are_those_that_the_program_takes_itself(self):
        for name, (calls, own_ns) in self.own.items():
            shown = {"": "Kim", "loss": "CrossEntropyLoss"}.get(name, name)
            # Around the program's own hooks stand ours, which a busy machine may interrupt.
            self.assertAlmostEqual(self.modules[shown]["total_ns"], own_ns,
                                   delta=0.4 * own_ns + calls * 2e6, msg=name)

    def test_shares_of_layers_are_those_that_the_program_takes_itself(self):
        whole, own_whole = self.modules["Kim"]["total_ns"], self.own[""][1]
        for name in ("embedding", "convs.0", "convs.1", "convs.2", "relu", "linear"):
            self.assertAlmostEqual(100 * self.modules[name]["total_ns"] / whole,
                                   100 * self.own[name][1] / own_whole, delta=5, msg=name)

    def test_the_parts_add_up_to_the_whole(self):
        modules = self.record["modules"]
        whole = sum(row["total_ns"] for row in self.record["regions"]["rows"] if row["depth"] == 0)
        self.assertAlmostEqual(sum(module["self_ns"] for module in modules), whole, delta=1e-6 * whole)
        self.assertAlmostEqual(sum(module["self_share"] for module in modules),
                               whole / self.record["wall_s"] / 1e9, places=6)
        self.assertLessEqual(whole, 1e9 * self.record["wall_s"])
        by_type = self.record["module_types"]
        self.assertAlmostEqual(sum(row["self_ns"] for row in by_type), whole, delta=1e-6 * whole)
        conv = next(row for row in by_type if row["name"] == "Conv1d")
        self.assertEqual(conv["occurrence"], 3 * self.STEPS)

    def test_backward_passes_nest_as_the_forward_ones_did(self):
        paths = {tuple(row["path"]) for row in self.record["regions"]["rows"]}
        for way in ("", " backward"):
            for name in ("embedding", "convs.0", "convs.2", "relu", "linear"):
                self.assertIn(("Kim" + way, name + way), paths)
        self.assertEqual(len(paths), len(self.modules))

    def test_flop_are_those_of_the_model(self):
        positions = {3: 48, 4: 47, 5: 46}
        for i, width in enumerate((3, 4, 5)):
            conv = self.STEPS * 16 * 24 * positions[width] * 2 * 48 * width
            self.assertEqual(self.modules[f"convs.{i}"]["flops"], conv)
            self.assertEqual(self.modules[f"convs.{i} backward"]["flops"], 2 * conv)
        classes = 4
        self.assertEqual(self.modules["linear"]["flops"], self.STEPS * 16 * classes * 2 * 72)
        self.assertEqual(self.modules["relu"]["flops"], 0)
        # No model says what a class of the program's own does.
        self.assertIsNone(self.modules["Kim"]["flops"])
        self.assertTrue(self.modules["Kim"]["flops_reason"])

    def test_the_cost_of_the_hooks_is_told(self):
        hooks = self.record["module_hooks"]
        self.assertEqual(hooks["with_modules"], 1)
        # Two a forward pass, two a backward one; outer modules share them with inner ones.
        self.assertGreaterEqual(hooks["hooks"], 3 * self.STEPS * 10)
        self.assertGreater(hooks["cost_ns"], 0)
        self.assertEqual(hooks["notes"], [])

    def test_calls_of_a_blas_belong_to_modules(self):
        called = self.record["blas"]["evidence"]["called"]
        if called["how"] != "audit":
            self.skipTest(called["reason"])
        # torch and its BLAS bind more symbols than any other program here.
        self.assertEqual([note for note in called["blind_to"] if "bindings were not watched" in note], [])
        of_all, of_modules = {}, {}
        for site in called["calls"]:
            of_all[site["symbol"]] = of_all.get(site["symbol"], 0) + site["count"]
        for call in called["primitives"]:
            routine = routine_of(call)
            of_all[routine] = of_all.get(routine, 0) + call["count"]
        for module in self.record["modules"]:
            for call in module["calls"]:
                of_modules[call["routine"]] = of_modules.get(call["routine"], 0) + call["calls"]
        for routine, count in of_modules.items():
            self.assertLessEqual(count, of_all[routine])
        if "sgemm_" not in of_all:
            self.skipTest("this torch calls no BLAS that can be watched")
        linear = {call["routine"]: call for call in self.modules["linear"]["calls"]}
        self.assertEqual(linear["sgemm_"]["calls"], self.STEPS)
        self.assertLessEqual(linear["sgemm_"]["time_ns"], self.modules["linear"]["total_ns"])
        self.assertIn("of its time", self.modules["linear"]["evidence"])
        self.assertEqual(self.modules["embedding"]["calls"], [])

    def test_primitives_of_onednn_name_their_kernel(self):
        called = self.record["blas"]["evidence"]["called"]
        primitives = [call for call in called["primitives"] if call["kind"] == "convolution"]
        if not primitives:
            self.skipTest("this torch calls no oneDNN that can be watched")
        for call in primitives:
            self.assertEqual(call["count"] % self.STEPS, 0)
            self.assertGreater(call["gflops"], 0)
            self.assertIn(" * 24x48x", call["shape"])
        of_modules = [call for name in ("convs.0", "convs.1", "convs.2")
                      for call in self.modules[name]["calls"]
                      if call["routine"] == "convolution forward_training"]
        self.assertEqual(sum(call["calls"] for call in of_modules), 3 * self.STEPS)
        for call in of_modules:
            self.assertIn(call["kernel"], {call["implementation"] for call in primitives})
            self.assertEqual(call["type"], "f32")
            self.assertIn("onednn " + call["kernel"], self.modules["convs.0"]["evidence"])

    def test_text_markdown_and_page_have_the_table(self):
        saved = self.path("saved.json", json.dumps(self.record))
        for form in ("text", "markdown", "html"):
            done = hwprof("report", saved, "--format", form)
            self.assertEqual(done.returncode, 0, done.stderr)
            for word in ("FunctionName", "ElapsedTime", "Occurrence", "convs.0 backward",
                         "Layers by type", "of the program's wall time"):
                self.assertIn(word, " ".join(done.stdout.split()), form)


@needs_torch
class ResNet20(Layers):
    """examples/resnet20.py beside the workload of that name."""

    IMAGES = 3

    def test_layers_and_their_flop_are_those_of_the_workload(self):
        record, done = self.run_layers(TORCH, os.path.join(EXAMPLES, "resnet20.py"), str(self.IMAGES))
        self.assertEqual(done.returncode, 0, done.stderr)
        modules = {module["name"]: module for module in record["modules"]}
        table = subprocess.run([sys.executable, os.path.join(EXAMPLES, "layer_table.py"),
                                self.path("report.json")], capture_output=True, text=True)
        self.assertEqual(table.returncode, 0, table.stderr)
        done = hwprof("--workload", "resnet20", "--no-ladder", "-q", "--time-budget", "1", "--repeat", "3",
                      "--variant", "eager", "--against", self.path("torch.csv", table.stdout),
                      "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        workload = json.loads(done.stdout)
        for layer, theirs in zip(workload["layers"], workload["against"]["layers"]):
            module = modules[layer["label"]]
            self.assertEqual(module["occurrence"], self.IMAGES, layer["label"])
            # A class of the program's own has no model.
            if module["type"] != "Add":
                self.assertEqual(module["flops"], self.IMAGES * layer["model"]["flops"], layer["label"])
            self.assertAlmostEqual(theirs["theirs_ns"], module["self_ns"] / self.IMAGES,
                                   delta=1e-3 * theirs["theirs_ns"])


@needs_torch
class Lines(Layers):
    def test_an_import_of_torch_is_the_programs_line(self):
        path = self.path("report.json")
        done = hwprof("run", "--layers", "--lines", "--no-ladder", "--format", "json", "-o", path, "--",
                      *self.python("import torch\ntorch.nn.Linear(3, 3)(torch.zeros(2, 3))\n"), timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path) as file:
            lines = json.load(file)["lines"]
        if not lines:
            self.skipTest("no lines of this Python")
        # hwprof's finder runs it. What is done at the start and end of Python has rows of hwprof's files.
        self.assertEqual([line["file"] for line in lines if line["source"] == "run(module)"], [])
        self.assertTrue(any(line["source"] == "import torch" for line in lines))


@needs_torch
class OddPrograms(Layers):
    def check(self, text, **changes):
        program = self.python(text)
        record, done = self.run_layers(*program, **changes)
        self.assert_as_alone(done, self.alone(*program, **changes))
        return record, {module["name"]: module["occurrence"] for module in record["modules"]}

    def test_a_program_that_replaces_its_path_and_goes_on_after_errors(self):
        record, modules = self.check("""
import sys
sys.path = [path for path in sys.path if path]
sys.path_importer_cache.clear()
import torch
from torch import nn
class Fails(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def forward(self, x):
        x = self.inner(x)
        if x.shape[0] == 2:
            raise ValueError("two")
        return x
class Odd(torch.Tensor):
    @property
    def grad_fn(self):
        raise RuntimeError("not here")
net = Fails()
for rows in (1, 2, 1):
    try:
        net(torch.zeros(rows, 3)).sum().backward()
    except ValueError as error:
        print(error)
nn.Identity()(torch.zeros(2).as_subclass(Odd))
print(torch.jit.trace(nn.Tanh(), torch.ones(2))(torch.ones(2)))
x = torch.zeros(2, 3, requires_grad=True)
print(torch.autograd.grad(nn.Sequential(nn.Linear(3, 2), nn.ReLU())(x).sum(), x)[0].shape)
""")
        self.assertEqual((modules["Fails"], modules["inner"]), (3, 3))
        self.assertEqual((modules["Fails backward"], modules["inner backward"]), (2, 2))
        self.assertEqual(modules["Linear backward" if "Linear backward" in modules
                                 else "Sequential.0 backward"], 1)
        self.assertIn("not here", self.notes(record))

    def test_two_hundred_threads_a_fork_and_an_exec(self):
        record, modules = self.check("""
import os, sys, threading
import torch
from torch import nn
torch.set_num_threads(1)
net = nn.Linear(4, 4)
def work():
    with torch.no_grad():
        for _ in range(5):
            net(torch.zeros(2, 4))
threads = [threading.Thread(target=work) for _ in range(200)]
for thread in threads: thread.start()
for thread in threads: thread.join()
child = os.fork()
if child == 0:
    work()
    sys.exit(0)
print(os.waitpid(child, 0)[1])
from multiprocessing import get_context
child = get_context("fork").Process(target=work)
child.start()
child.join()
print(child.exitcode)
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, "-c", "print('other')"])
""")
        # Those of both children; of the parent, which ends by an execve, what it had some s before.
        self.assertGreaterEqual(modules["Linear"], 10)
        self.assertLessEqual(modules["Linear"], 1010)
        self.assertIn("execve", self.notes(record))
        self.assertIsNone(record["module_hooks"]["cost_ns"])

    def test_a_process_that_ends_at_once_says_what_is_missing(self):
        for end, code in (("os._exit(3)", 3), ("os.kill(os.getpid(), signal.SIGTERM)", 143)):
            record, modules = self.check(f"""
import os, signal, time
import torch
net = torch.nn.Linear(4, 4)
until = time.monotonic() + 4
while time.monotonic() < until:
    net(torch.zeros(2, 4))
print("done", flush=True)
{end}
""")
            self.assertEqual(record["exit"], code)
            self.assertGreater(modules["Linear"], 0)
            self.assertIn("os._exit", self.notes(record))


class WithoutTorch(Layers):
    def python(self, text, name="program.py"):
        return [sys.executable, self.path(name, text)]

    def test_a_program_keeps_its_path_and_its_sitecustomize(self):
        folder = self.path("own")
        os.mkdir(folder)
        with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
            file.write("import builtins\nbuiltins.seen = __file__\n")
        program = self.python("import sys\nprint(sys.path, seen, sys.modules['sitecustomize'].__file__)")
        record, done = self.run_layers(*program, PYTHONPATH=folder)
        self.assert_as_alone(done, self.alone(*program, PYTHONPATH=folder))
        self.assertIn(folder, done.stdout)
        self.assertEqual(record["modules"], [])
        self.assertIn("torch was not imported", self.notes(record))

    def test_without_a_sitecustomize_there_is_none(self):
        program = self.python("import sys\nprint('sitecustomize' in sys.modules, sys.path)")
        record, done = self.run_layers(*program)
        self.assert_as_alone(done, self.alone(*program))
        self.assertEqual(done.stderr, "")

    def test_a_torch_that_cannot_be_imported_is_said(self):
        folder = self.path("torch")
        os.mkdir(folder)
        with open(os.path.join(folder, "__init__.py"), "w") as file:
            file.write("raise OSError('libgone.so is not there')\n")
        program = self.python("try:\n    import torch\nexcept OSError as error:\n    print(error)\n")
        record, done = self.run_layers(*program, PYTHONPATH=self.folder)
        self.assert_as_alone(done, self.alone(*program, PYTHONPATH=self.folder))
        self.assertIn("libgone.so", self.notes(record))

    def test_a_program_that_is_no_python_is_said(self):
        for program in (["true"], [sys.executable, "-I", "-c", "print(1)"]):
            record, done = self.run_layers(*program)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("no Python of the program took part", self.notes(record))

    def test_regions_of_the_programs_own(self):
        record, done = self.run_layers(*self.python("""
import sys
sys.path = [path for path in sys.path if path != "elsewhere"]
import hwprof
@hwprof.region
def step(n):
    with hwprof.region("LINEAR PASS"):
        return n if n == 0 else step(n - 1)
for _ in range(3):
    step(2)
try:
    with hwprof.region("fails"):
        raise KeyError
except KeyError:
    pass
@hwprof.region("named")
def other():
    return 7
shell = type("Shell", (), {"register_magic_function":
    lambda self, function, magic_kind, magic_name: setattr(self, magic_name, function),
    "run_cell": lambda self, cell: exec(cell)})()
hwprof.load_ipython_extension(shell)
shell.hwprof("my cell", "print('in the cell')")
print(other(), step.__name__)
"""))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("in the cell\n", done.stdout)
        self.assertIn("my cell", done.stdout)
        self.assertTrue(done.stdout.endswith("7 step\n"))
        calls = {row["name"]: row["calls"] for row in record["regions"]["rows"]}
        self.assertEqual(calls["fails"], 1)
        self.assertEqual(calls["named"], 1)
        self.assertEqual(calls["my cell"], 1)
        self.assertEqual(sum(row["calls"] for row in record["regions"]["rows"]
                             if row["name"] == "LINEAR PASS"), 9)

    def test_flop_of_recurrent_layers_and_attention(self):
        python = os.path.join(os.path.dirname(__file__), "..", "..", "python")
        record, done = self.run_layers(*self.python(f"""
import sys
sys.path.insert(0, {python!r})
from hwprof._work import flops_of
def module(kind, **values):
    return type(kind, (), values)()
lstm = module("LSTM", input_size=8, hidden_size=16, num_layers=2, bidirectional=True, bias=True)
print(flops_of(lstm, [(4, 7, 8)], [(4, 7, 32)]))
gru = module("GRUCell", input_size=8, hidden_size=16, bias=False)
print(flops_of(gru, [(4, 8)], [(4, 16)]))
attention = module("MultiheadAttention", embed_dim=16, kdim=16, vdim=16, batch_first=True)
print(flops_of(attention, [(2, 5, 16), (2, 7, 16)], [(2, 5, 16)]))
pool = module("AvgPool2d", kernel_size=3)
print(flops_of(pool, [(1, 1, 9, 9)], [(1, 1, 3, 3)]))
"""))
        rows = 4 * 7
        lstm = rows * 2 * (2 * 64 * (8 + 16) + 64 + 64) + rows * 2 * (2 * 64 * (32 + 16) + 64 + 64)
        gru = 4 * (2 * 48 * (8 + 16) + 5 * 16)
        # Queries and results of 5, keys and values of 7; then scores and what is made of them.
        attention = 2 * 2 * (5 * 256 * 2 + 7 * 256 * 2) + 4 * 2 * 5 * 7 * 16
        self.assertEqual(done.stdout.split(), [str(n) for n in (lstm, gru, attention, 9 * 10)],
                         done.stderr)
        self.assertEqual(record["exit"], 0)

    def test_layers_is_refused_where_it_means_nothing(self):
        self.assert_refused("attach", "--layers", "1", names="--layers")


if __name__ == "__main__":
    unittest.main()
