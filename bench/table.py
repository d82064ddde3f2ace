#!/usr/bin/env python3
"""Turns the JSON of several runs of kernels_bench into the table of targets, as markdown and JSON.

usage: table.py OUT_DIR RUN.json...

Each ratio was taken within one run, from neighbouring slices. Over runs only a median of such ratios
is made: nothing is divided by what another run measured. What a run lacks stays absent, and the
reason is printed in its place.
"""

import json
import pathlib
import re
import statistics
import sys

TEXT_CNN = "conv1d-maxpool/k:{}/n:{}/d_e:{}/d_c:{}/batch:{}"


def targets():
    """What the kernels must reach: name, bar, cases, and counters whose smallest value counts."""
    rows = []

    def at_least(bar, what, cases, keys):
        rows.append({"what": what, "bar": bar, "cases": cases, "keys": keys})

    main = [(k, batch) for batch in (64, 1) for k in (2, 4, 8)]
    for k, batch in main:
        at_least(0.98, f"fused conv1d of FMA peak, k = {k}, batch {batch}",
                 [TEXT_CNN.format(k, 124, 300, 128, batch)], ["fused:peak"])
    for batch in (64, 1):
        for k in (3, 4, 5):
            at_least(0.90, f"Kim's {k} with 100 filters of FMA peak, batch {batch}",
                     [TEXT_CNN.format(k, 124, 300, 100, batch)], ["fused:peak"])
    for n, batch in ((20, 64), (50, 64), (500, 16), (2000, 4), (20, 1), (2000, 1)):
        at_least(0.90, f"n = {n} of FMA peak, k = 4, batch {batch}",
                 [TEXT_CNN.format(4, n, 300, 128, batch)], ["fused:peak"])
    for d_e, batch in ((50, 64), (100, 64), (200, 64), (768, 64), (50, 1), (768, 1)):
        at_least(0.90, f"d_e = {d_e} of FMA peak, k = 4, batch {batch}",
                 [TEXT_CNN.format(4, 124, d_e, 128, batch)], ["fused:peak"])
    few = [(filters, 1) for filters in (1, 2, 3, 5, 7, 11, 15)] + [(1, 64), (3, 64), (7, 64)]
    for filters, batch in few:
        at_least(0.60, f"{filters} filters of FMA peak, k = 4, batch {batch}",
                 [TEXT_CNN.format(4, 124, 300, filters, batch)], ["fused:peak"])
    for n in (4, 5, 6, 11, 19):
        at_least(0.70, f"n = {n} of FMA peak, k = 4, batch 1",
                 [TEXT_CNN.format(4, n, 300, 128, 1)], ["fused:peak"])
    for k, bar in ((2, 1.12), (4, 1.06), (8, 1.02)):
        at_least(bar, f"conv1d + relu + max over oneDNN, k = {k}, batch 64",
                 [TEXT_CNN.format(k, 124, 300, 128, 64)], ["onednn:ours"])
    for k, batch in main:
        at_least(1.25, f"conv1d + relu + max over OpenBLAS shifted, k = {k}, batch {batch}",
                 [TEXT_CNN.format(k, 124, 300, 128, batch)], ["openblas-shifted:ours"])
    for k, bar in ((2, 1.35), (4, 1.25), (8, 1.15)):
        at_least(bar, f"conv1d + relu + max over PyTorch, k = {k}, batch 64",
                 [TEXT_CNN.format(k, 124, 300, 128, 64)], ["pytorch:ours"])
    for batch in (64, 1):
        at_least(1.0, f"linear 103x128 over the better of OpenBLAS and oneDNN, batch {batch}",
                 [f"linear/103x128/batch:{batch}"],
                 ["openblas-gemm:ours", "openblas-gemv:ours", "onednn:ours"])
    at_least(1.0, "ResNet20, one image, over oneDNN", ["resnet20"], ["onednn:ours"])
    at_least(3.0, "ResNet20, one image, over PyTorch eager", ["resnet20"], ["pytorch:ours"])
    for k, batch in main:
        at_least(0.95, f"capped to AVX2, of the AVX2 peak, k = {k}, batch {batch}",
                 ["avx2/" + TEXT_CNN.format(k, 124, 300, 128, batch)], ["fused:peak"])
    return rows


MEMORY_TARGET = {"what": "memory beyond operands, one thread, KiB (an upper bound)", "bar": 1024}


def read_run(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    rows = {}
    for entry in document["benchmarks"]:
        if entry.get("run_type") == "aggregate":
            continue
        # Google Benchmark adds what it was told to the name.
        name = re.sub(r"(/iterations:\d+|/manual_time)", "", entry["name"])
        rows[name] = entry
    return {"context": document["context"], "rows": rows}


def value_of(run, case, keys):
    """(value, None) or (None, reason)."""
    row = run["rows"].get(case)
    if row is None:
        return None, f"{case} was not run"
    if row.get("error_occurred"):
        return None, row.get("error_message", "failed")
    missing = [key for key in keys if key not in row]
    if missing:
        names = ", ".join(key.split(":")[0] for key in missing)
        return None, row.get("label") or f"{names} was not measured"
    return min(row[key] for key in keys), None


def judge(target, runs):
    values, reasons = [], []
    for run in runs:
        for case in target["cases"]:
            value, reason = value_of(run, case, target["keys"])
            if reason is None:
                values.append(value)
            else:
                reasons.append(reason)
    result = {"what": target["what"], "at_least": target["bar"], "runs": values}
    if reasons:
        return {**result, "median": None, "reached": None, "reason": reasons[0]}
    median = statistics.median(values)
    return {**result, "median": median, "reached": median >= target["bar"]}


def judge_memory(runs):
    values = []
    for run in runs:
        kib = [row["extra_kib"] for row in run["rows"].values() if "extra_kib" in row]
        if kib:
            values.append(max(kib))
    result = {"what": MEMORY_TARGET["what"], "at_most": MEMORY_TARGET["bar"], "runs": values}
    if not values:
        return {**result, "median": None, "reached": None, "reason": "the kernel does not say"}
    median = statistics.median(values)
    return {**result, "median": median, "reached": median <= MEMORY_TARGET["bar"]}


def contestants(row):
    return [key[: -len(":peak")] for key in row if key.endswith(":peak")]


def ours_and_peers(case):
    """Ours has no ratio to itself. Google Benchmark sorts its counters by name."""
    names = list(case["contestants"])
    ours = [name for name in names if "ours" not in case["contestants"][name]]
    return ours[0], [name for name in names if name not in ours]


def summarize(runs):
    """Case by case, contestant by contestant: medians over the runs that have it."""
    cases = {}
    for run in runs:
        for name, row in run["rows"].items():
            case = cases.setdefault(name, {"absent": [], "contestants": {}})
            note = row.get("error_message") or row.get("label")
            if note and note not in case["absent"]:
                case["absent"].append(note)
            for who in contestants(row):
                values = case["contestants"].setdefault(who, {})
                for key in ("gflops", "peak", "ours"):
                    if f"{who}:{key}" in row:
                        values.setdefault(key, []).append(row[f"{who}:{key}"])
    for case in cases.values():
        for who, values in case["contestants"].items():
            case["contestants"][who] = {k: statistics.median(v) for k, v in values.items()}
    return cases


def machine(runs):
    context = runs[0]["context"]
    names = ("cpu", "cache_sizes", "virtualized", "kernel", "simd", "fma_peak", "blas", "blis",
             "onednn", "pytorch")
    facts = {name: context[name] for name in names if name in context}
    peaks = [row["fma_peak_gflops"] for run in runs for name, row in run["rows"].items()
             if "fma_peak_gflops" in row and not name.startswith("avx2/")]
    if peaks:
        facts["fma_peak_gflops"] = f"{min(peaks):.0f} to {max(peaks):.0f} over the cases"
    return facts


def build(runs):
    judged = [judge(target, runs) for target in targets()] + [judge_memory(runs)]
    return {"machine": machine(runs), "runs": len(runs), "targets": judged,
            "cases": summarize(runs)}


def target_lines(judged):
    yield "| work | bar | median | runs from .. to | reached |"
    yield "| --- | --- | --- | --- | --- |"
    for row in judged:
        bar = f">= {row['at_least']}" if "at_least" in row else f"<= {row['at_most']}"
        if row["reached"] is None:
            yield f"| {row['what']} | {bar} | absent | {row['reason']} | unknown |"
            continue
        digits = ".3f" if "at_least" in row else ".0f"
        yield (f"| {row['what']} | {bar} | {row['median']:{digits}} | "
               f"{min(row['runs']):{digits}} .. {max(row['runs']):{digits}} | "
               f"{'yes' if row['reached'] else '**no**'} |")


def case_lines(cases, prefix):
    chosen = {name: case for name, case in cases.items()
              if name.startswith(prefix) and case["contestants"]}
    if not chosen:
        return
    peers = []
    for case in chosen.values():
        peers += [who for who in ours_and_peers(case)[1] if who not in peers]
    yield "| case | ours, GFLOP/s | of peak | " + "".join(f"{peer} | " for peer in peers)
    yield "| --- | --- | --- | " + "--- | " * len(peers)
    for name, case in chosen.items():
        who = ours_and_peers(case)[0]
        ours = case["contestants"][who]
        cells = []
        for peer in peers:
            theirs = case["contestants"].get(peer)
            cells.append(f"{theirs['ours']:.2f} ({theirs['peak']:.2f})" if theirs else "absent")
        yield (f"| {name} ({who}) | {ours['gflops']:.0f} | {ours['peak']:.3f} | " +
               "".join(f"{cell} | " for cell in cells))


def markdown(table):
    lines = ["## Machine", ""]
    lines += [f"- {name}: {value}" for name, value in table["machine"].items()]
    lines += ["", f"## Targets, median of {table['runs']} runs", ""]
    lines += target_lines(table["targets"])
    for title, prefix in (("conv1d + relu + max over time", "conv1d-maxpool/"), ("Linear", "linear/"),
                          ("Convolutions of ResNet20 (conv + bn + relu)", "conv2d-bn-relu/"),
                          ("ResNet20, one image", "resnet20"), ("Capped to AVX2", "avx2/")):
        rows = list(case_lines(table["cases"], prefix))
        if rows:
            lines += ["", f"## {title}", ""]
            if prefix in ("conv2d-bn-relu/", "resnet20"):
                lines += ["Taps in the zero padding are no FLOP (kernels/complexity.h), whether a "
                          "contestant multiplies them or not.", ""]
            if len(rows[0].split("|")) > 5:
                lines += ["Peers: how many times faster ours is (and the peer's fraction of peak).",
                          ""]
            lines += rows
    notes = sorted({note for case in table["cases"].values() for note in case["absent"]})
    if notes:
        lines += ["", "## Absent", ""] + [f"- {note}" for note in notes]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    directory = pathlib.Path(arguments[0])
    table = build([read_run(path) for path in arguments[1:]])
    text = markdown(table)
    (directory / "results.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    (directory / "results.md").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
