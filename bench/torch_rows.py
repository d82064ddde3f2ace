#!/usr/bin/env python3
"""The rows of PyTorch, measured slice by slice on command.

One line of JSON on standard input, one on standard output:
  {"op": "version"}                      {"version": "1.13.1, 1 thread, ..."}
  {"op": "conv1d", "k": 2, ...}          {"ready": true}
  {"slice_s": 0.02}                      {"call_ns": 12345.6}
An answer {"error": why} stands for what cannot be done, a missing PyTorch included. The caller
(bench/torch_child.cpp) lets these slices and its own take turns, so that a ratio is from one run.
One thread; the CPU is the caller's.
"""

import json
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    torch, missing = None, f"{error} (Debian: python3-torch)"

CHUNK_NS = 300e3


def conv1d(spec):
    """Convolution, bias, ReLU, max over time. PyTorch has three ways to take the max: the fastest
    counts."""
    x = torch.rand(spec["batch"], spec["d_e"], spec["n"]) - 0.5
    conv = torch.nn.Conv1d(spec["d_e"], spec["d_c"], spec["k"]).eval()
    pools = [
        lambda h: torch.amax(h, 2),
        lambda h: torch.max(h, 2).values,
        lambda h: F.max_pool1d(h, h.shape[2]),
    ]
    calls = [lambda pool=pool: pool(torch.relu_(conv(x))) for pool in pools]
    return min(calls, key=lambda call: [slice_ns(call, 0.05) for _ in range(2)][-1])


def linear(spec):
    layer = torch.nn.Linear(spec["inputs"], spec["outputs"]).eval()
    x = torch.rand(spec["batch"], spec["inputs"]) - 0.5
    return lambda: layer(x)


def conv2d(spec):
    """Eager: convolution, batch normalisation, ReLU as modules."""
    layers = [
        torch.nn.Conv2d(spec["c_in"], spec["c_out"], spec["kernel"], spec["stride"],
                        padding=(spec["kernel"] - 1) // 2, bias=False),
        torch.nn.BatchNorm2d(spec["c_out"]),
    ]
    if spec["relu"]:
        layers.append(torch.nn.ReLU(inplace=True))
    x = torch.rand(1, spec["c_in"], spec["side"], spec["side"]) - 0.5
    return lambda net=torch.nn.Sequential(*layers).eval(): net(x)


def resnet20(_spec):
    """As src/workloads/networks/resnet20.cpp has it: a shortcut only where the stride is 2."""

    class Block(torch.nn.Module):
        def __init__(self, c_in, c_out, stride):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(c_in, c_out, 3, stride, padding=1, bias=False)
            self.bn1 = torch.nn.BatchNorm2d(c_out)
            self.conv2 = torch.nn.Conv2d(c_out, c_out, 3, padding=1, bias=False)
            self.bn2 = torch.nn.BatchNorm2d(c_out)
            self.shortcut = stride != 1
            if self.shortcut:
                self.conv3 = torch.nn.Conv2d(c_in, c_out, 1, stride, bias=False)
                self.bn3 = torch.nn.BatchNorm2d(c_out)

        def forward(self, x):
            h = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
            if self.shortcut:
                h += self.bn3(self.conv3(x))
            return F.relu(h, inplace=True)

    blocks = [Block(16, 16, 1) for _ in range(3)]
    for c_in, c_out in ((16, 32), (32, 64)):
        blocks += [Block(c_in, c_out, 2), Block(c_out, c_out, 1), Block(c_out, c_out, 1)]
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1, bias=False), torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(inplace=True), *blocks, torch.nn.AvgPool2d(8), torch.nn.Flatten(),
        torch.nn.Linear(64, 10)).eval()
    x = torch.rand(1, 3, 32, 32) - 0.5
    return lambda: net(x)


def slice_ns(call, seconds):
    """Nanoseconds of CPU time a call: the median piece, as src/measure/schedule.cpp has it."""
    calls, times, spent = 1, [], 0
    while spent < seconds * 1e9:
        begin = time.thread_time_ns()
        for _ in range(calls):
            call()
        chunk = max(1, time.thread_time_ns() - begin)
        spent += chunk
        times.append(chunk / calls)
        if len(times) == 1:
            calls = max(1, round(CHUNK_NS / chunk))
    return statistics.median(times)


def version(_spec):
    parts = [torch.__version__, f"{torch.get_num_threads()} thread"]
    for line in torch.__config__.show().splitlines():
        if "MKL-DNN v" in line:  # oneDNN's former name
            parts.append(line.strip(" -").split(" (Git")[0])
    return ", ".join(parts)


WORK = {"conv1d": conv1d, "linear": linear, "conv2d": conv2d, "resnet20": resnet20}


def answer(command, state):
    if torch is None:
        return {"error": missing}
    if command.get("op") == "version":
        return {"version": version(command)}
    if "slice_s" in command:
        return {"call_ns": slice_ns(state["call"], command["slice_s"])}
    state["call"] = WORK[command["op"]](command)
    for _ in range(3):  # oneDNN compiles at the first call
        state["call"]()
    return {"ready": True}


def main():
    state = {}
    if torch is not None:
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), state)
        except Exception as error:  # whatever PyTorch raises belongs into the table's notes
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
