"""The main job where counters count: `hwprof --pin 0 --events cycles,instructions --format json`.

Run by an ordinary user, so that only user instructions count: with -icount these, the guest's clock
and so every time in the report follow from the program alone. What two boots print must be the same
byte for byte, times included.
"""
import json

from guest.qemu import Step

# Debian's kernel starts at 3, which keeps ordinary users from counting at all.
PARANOID_2 = Step("paranoid", ["sh", "-c", "echo 2 > /proc/sys/kernel/perf_event_paranoid"])
# Small: an FMA of the measured peak is a call into softfloat here.
SHAPE = "k=2,d_e=32,d_c=16,n=24,l=10,batch=4"
JOB = ["hwprof", "--pin", "0", "--events", "cycles,instructions", "--format", "json",
       "--shape", SHAPE, "--time-budget", "0.2", "--no-ladder"]
STEPS = [PARANOID_2, Step("json", JOB, quiet=True, as_user=True)]

CYCLES_PER_INSTRUCTION = 2  # -icount shift=1
# The variants of each operation, and the most FLOP that an instruction of the guest can do: a
# multiply-add of four lanes.
VARIANTS = {"conv1d": {"reference", "simd", "blas-im2col", "blas-shifted"},
            "linear": {"reference", "simd", "blas-gemm", "blas-gemv"}}
MOST_FLOPS_PER_INSTRUCTION = 8


def report(results, boot="job"):
    result = results[boot]["json"]
    assert result.status == 0, f"hwprof ended with status {result.status}"
    return json.loads(result.output)


def the_report_names_the_pmu_and_the_pinned_cpu(results):
    answer = report(results)
    assert answer["schema"] == "hwprof.profile/1", answer["schema"]
    pmu = answer["machine"]["pmu"]
    assert pmu["present"] is True and pmu["counters"] == 6, pmu
    assert answer["machine"]["perf_event_paranoid"] == 2
    assert answer["pin"]["requested"] == answer["pin"]["actual"] == [0], answer["pin"]


def every_row_has_both_counts_unscaled_and_ipc_one_half(results):
    lines = []
    for row in report(results)["rows"]:
        name = f"{row['op']} {row['variant']}"
        counters = row["counters"]
        values = []
        for event in ("cycles", "instructions"):
            counter = counters[event]
            assert counter["status"] == "ok", f"{name}: {counter}"
            assert counter["coverage"] == 1, f"{name}: {counter}"
            assert counter["value"] > 0, f"{name}: {counter}"
            values.append(counter["value"])
        cycles, instructions = values
        ratio = cycles / instructions
        assert abs(ratio - CYCLES_PER_INSTRUCTION) < 1e-9, f"{name}: {ratio} cycles/instruction"
        flops = row["model"]["flops"]
        assert flops / instructions <= MOST_FLOPS_PER_INSTRUCTION, f"{name}: {flops} FLOP"
        lines.append(f"{name}: {instructions:.15g} instructions, {cycles:.15g} cycles a call")
    assert lines, "there are no rows"
    return lines


def every_variant_has_a_row(results):
    rows = report(results)["rows"]
    for op, variants in VARIANTS.items():
        there = {row["variant"] for row in rows if row["op"] == op}
        assert variants <= there, f"{op}: {variants - there} missing"


# The clock is made of instructions: a call lasts 2 ns for each, and what the timer adds.
def times_agree_with_cycles(results):
    for row in report(results)["rows"]:
        time, cycles = row["time_ns"]["median"], row["counters"]["cycles"]["value"]
        assert 0.9 < time / cycles < 1.25, f"{row['op']} {row['variant']}: {time} ns, {cycles}"


# The guest tells the sizes of no cache.
def the_roofline_is_that_of_memory(results):
    assert "nan" not in results["job"]["json"].output.lower()
    for row in report(results)["rows"]:
        assert row["bandwidth_level"] == "memory" and row["roofline_ns"] > 0, row


def the_blas_is_openblas_serial(results):
    blas = report(results)["blas"]
    assert blas["provider"] == "openblas" and "openblas-serial" in blas["path"], blas
    assert blas["core"].lower() == "neoversen1", blas["core"]
    return [f"{blas['provider']} {blas['version']} {blas['core']}: {blas['verdict']}"]


def two_boots_print_the_same_bytes(results):
    for step in STEPS:
        first, second = (results[boot][step.name].output for boot in ("job", "again"))
        for one, other in zip(first.splitlines(), second.splitlines()):
            assert one == other, f"{step.name}: '{one}' and '{other}'"
        assert first == second, f"{step.name}: one is longer"
    return [f"{len(results['job']['json'].output)} bytes of JSON"]


CHECKS = [the_report_names_the_pmu_and_the_pinned_cpu, every_variant_has_a_row,
          every_row_has_both_counts_unscaled_and_ipc_one_half, times_agree_with_cycles,
          the_roofline_is_that_of_memory, the_blas_is_openblas_serial]
REPEAT_CHECKS = [two_boots_print_the_same_bytes]
