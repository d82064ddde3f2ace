"""The keys of every command's JSON, of real runs, held against tests/golden/*.paths.

A line is a path and its types: `rows[].time_ns.median: null|number`. Lists are merged, keys that are
data (an event, a variable, a size) are `*`, a key that an object may lack has a `?` behind it. What
is measured differs from machine to machine, so nothing is said of values; null is one that each
machine may have, where docs/json.md says so. After a change on purpose HWPROF_GOLDEN_WRITE=1 adds
what is new to the files; what is gone is removed by hand.
"""

import glob
import json
import os
import re
import subprocess

from harness import CliTest, environment, hwprof, main, quick

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GOLDEN = os.path.join(ROOT, "tests", "golden")
WRITE = os.environ.get("HWPROF_GOLDEN_WRITE") == "1"
# Objects whose keys are data.
MAPS = {"counters", "counters_of_nothing", "environment", "shape", "by_isa", "bandwidth_gbs",
        "variants", "at", "by_library", "by_symbol", "vector_width", "events", "flops_by_width",
        "flops_by_precision", "operations"}
SMALL = {"name": "small", "input": [1, 6, 6, 3],
         "layers": [{"name": "conv", "op": "conv2d", "c_out": 4, "kernel": 3, "stride": 1},
                    {"name": "relu", "op": "relu"}, {"name": "flat", "op": "reshape"},
                    {"name": "l", "op": "linear", "l": 3}]}
TABLE = "index,layer,seconds\n0,Convolution2DFunction,0.1\n1,ReLU,0.1\n2,Reshape,0.1\n" \
        "3,LinearFunction,0.1\n"


def type_of(value):
    if value is None:
        return "null"
    for kind, name in ((bool, "bool"), ((int, float), "number"), (str, "text"), (list, "list")):
        if isinstance(value, kind):
            return name
    return "object"


class Shape:
    """What was seen of a kind of document: types of a path, and the keys of its objects."""

    def __init__(self):
        self.types = {}
        self.optional = set()
        self.objects = {}  # path of an object -> keys that each one had

    def add(self, value, path=""):
        if path:
            self.types.setdefault(path, set()).add(type_of(value))
        if isinstance(value, list):
            for item in value:
                self.add(item, path + "[]")
        elif isinstance(value, dict):
            prefix = path + "." if path else ""
            if path.rpartition(".")[2] in MAPS:
                for item in value.values():
                    self.add(item, prefix + "*")
                return
            keys = {prefix + key for key in value}
            known = self.objects.get(path)
            if known is not None:
                self.optional |= known[0] ^ keys | known[1]
                self.objects[path] = known[0] & keys, known[1] | (known[0] ^ keys)
            else:
                self.objects[path] = keys, set()
            for key, item in value.items():
                self.add(item, prefix + key)


def read(name):
    types, optional = {}, set()
    with open(os.path.join(GOLDEN, name + ".paths"), encoding="ascii") as file:
        for line in file:
            path, _, kinds = line.strip().partition(": ")
            if path.endswith("?"):
                path = path[:-1]
                optional.add(path)
            types[path] = set(kinds.split("|"))
    return types, optional


def write(name, shape):
    path = os.path.join(GOLDEN, name + ".paths")
    types, optional = read(name) if os.path.exists(path) else ({}, set())
    optional |= shape.optional
    for at, kinds in shape.types.items():
        types[at] = types.get(at, set()) | kinds
    with open(path, "w", encoding="ascii") as file:
        for at in sorted(types):
            file.write("%s%s: %s\n" % (at, "?" * (at in optional), "|".join(sorted(types[at]))))


def described():
    """The tables of docs/json.md: heading -> rows of (key, type, what it is)."""
    records, rows = {}, []
    with open(os.path.join(ROOT, "docs", "json.md"), encoding="utf-8") as file:
        for line in file:
            if heading := re.match(r"#+ `?([\w./]+)`?$", line):
                rows = records.setdefault(heading[1], [])
            elif line.startswith("| ") and line.count("|") >= 5:
                cells = [cell.strip() for cell in line.strip("|\n").split("|", 3)]
                rows.append((cells[0].strip("`"), cells[1], cells[3]))
    return records


def nullable(records, name, prefix=""):
    """Paths below `prefix` that may be null in a record."""
    for key, kind, what in records[name]:
        within = re.search(r"\[(\w+)\]\(#", kind or what)
        if not key:  # of another record
            inside = nullable(records, within[1], prefix)
            without = {prefix + hidden for hidden in re.findall(r"`([\w.]+)`", what)}
            yield from (path for path in inside if path not in without)
            continue
        path = prefix + key
        # "list of number or null" may be either.
        if kind.endswith(" or null"):
            yield path
        for step in re.findall(r"list of|by name", kind):
            path += "[]" if step == "list of" else ".*"
            if kind.endswith(" or null"):
                yield path
        if within:
            yield from nullable(records, within[1], path + ".")


class Keys(CliTest):
    def check_nulls(self, schema, shape, known):
        """`known`: paths that may be null in documents that docs/json.md does not describe."""
        records = described()
        allowed = set(nullable(records, schema)) if schema in records else known
        nulls = {path for path, kinds in shape.types.items() if "null" in kinds}
        self.assertEqual(nulls - allowed, set(), "null where docs/json.md has a value")

    def test_made_up_documents_are_null_only_where_that_is_described(self):
        for path in glob.glob(os.path.join(GOLDEN, "*.json")):
            with open(path, encoding="utf-8") as file:
                made = json.load(file)
            shape = Shape()
            shape.add(made)
            if made["schema"] in described():
                self.check_nulls(made["schema"], shape, set())

    def check(self, name, *reports):
        """`name`: of the golden file, and of the made-up documents that it holds, too."""
        shape = Shape()
        for report in reports:
            shape.add(report)
        if WRITE:
            for path in glob.glob(os.path.join(GOLDEN, "*.json")):
                with open(path, encoding="utf-8") as file:
                    made = json.load(file)
                if made["schema"] == reports[0]["schema"]:
                    shape.add(made)
            write(name, shape)
        types, optional = read(name)
        for path, kinds in shape.types.items():
            self.assertIn(path, types, "a new key")
            # What one machine cannot tell, another can: null says nothing of a type.
            known = types[path] - {"null"} or kinds
            self.assertLessEqual(kinds - {"null"}, known, "a new type of " + path)
        self.check_nulls(reports[0]["schema"], shape,
                         {path for path, kinds in types.items() if "null" in kinds})
        for path, (always, sometimes) in shape.objects.items():
            prefix = path + "." if path else ""
            wanted = {at for at in types if at.startswith(prefix) and at not in optional
                      and not set(at[len(prefix):]) & set(".[*")}
            self.assertLessEqual(wanted - always, set(), "keys that are gone or not always there")

    def json_of(self, *arguments, codes=(0,), **options):
        done = hwprof(*arguments, **options)
        self.assertIn(done.returncode, codes, done.stderr)
        return json.loads(done.stdout)

    def test_profile(self):
        short = ["--format", "json", "-q", "--no-ladder", "--events",
                 "cycles,flops,task-clock"]
        network = self.path("net.json", json.dumps(SMALL))
        table = self.path("table.csv", TABLE)
        self.check(
            "profile",
            self.json_of(*quick(*short, "--variant", "simd,blas-gemm", "--threads", "1,2",
                                "--loops", "2", "--trace", self.path("trace.json"), "--overhead")),
            self.json_of(*quick("--format", "json", "-q", "--variant", "reference")),
            self.json_of(*short, "--workload", network, "--against", table, "--time-budget", "1"),
            self.json_of(*short, "--workload", "mlp", "--epochs", "2", "--time-budget", "1"))

    def test_sweep(self):
        short = ["sweep", "--format", "json", "-q", "--time-budget", "1", "--points", "3"]
        self.check("sweep",
                   self.json_of(*short, "--op", "maxpool", "--param", "n=16:64"),
                   self.json_of(*short, "--op", "linear", "--param", "l=8:32", "--param",
                                "d_c=8:32", "--variant", "simd"))

    def test_run_and_attach(self):
        program = os.environ["REGION_PROGRAM"]
        caller = os.environ.get("BLAS_CALLER")
        exact_caller = os.environ.get("EXACT_CALLER")

        def run(*options, command):
            path = self.path("run.json")
            done = hwprof("run", "--format", "json", "-o", path, *options, "--", *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

        reports = [run("--no-ladder", command=[program]),
                   run("--no-ladder", "--repeat", "2", command=["true"])]
        if caller:
            reports.append(run(command=[caller, "busy", "0.3"]))
        if exact_caller:
            reports += [run("--no-ladder", "--exact", "cblas_sgemm", command=[exact_caller, way])
                        for way in ("products", "threads")]
        path = self.path("attach.json")
        with subprocess.Popen(["sleep", "60"]) as child:
            done = hwprof("attach", "--format", "json", "-o", path, "--no-ladder",
                          "--seconds", "0.5", str(child.pid))
            child.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
        self.check("run", *reports)

    def test_regions_of_a_program(self):
        path = self.path("regions-%p.json")
        subprocess.run([os.environ["REGION_PROGRAM"]], check=True, env=environment(
            HWPROF_REGIONS=path, LD_PRELOAD=os.environ["HWPROF_MEMORY"]))
        reports = []
        for file in glob.glob(self.path("regions-*.json")):
            with open(file, encoding="utf-8") as text:
                reports.append(json.load(text))
        self.check("regions", *reports)

    def test_compare(self):
        names = []
        for name in ("a.json", "b.json"):
            names.append(self.path(name))
            done = hwprof(*quick("-q", "--no-ladder", "--format", "json", "-o", names[-1],
                                 "--variant", "simd"))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.check("compare", self.json_of("compare", *names, "--format", "json", codes=(0, 1)))

    def test_what_looks_at_the_machine(self):
        self.check("blas", self.json_of("blas", "--quick", "--json", codes=(0, 1, 3)))
        self.check("doctor", self.json_of("doctor", "--json", codes=(0, 1)))
        self.check("events", self.json_of("events", "--json"),
                   self.json_of("events", "--json", "--cpu", "intel/6/143"))
        self.check("peak", self.json_of("peak", "--json"))
        self.check("workloads", self.json_of("workloads", "resnet20", "--json"))


if __name__ == "__main__":
    main()
