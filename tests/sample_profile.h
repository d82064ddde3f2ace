// A record as a run on a virtual machine would give it, for the tests of the writers: every status
// of a counter, absent numbers with their reasons, a ladder with a rung that failed.
#pragma once

#include <string>

#include "src/model/record.h"

namespace hwprof::report {

struct SampleRow {
  const char* op;
  const char* variant;
  double median_ns, half_width_ns;
  double gflops, peak_fraction, roofline_fraction, share, error;
  const char* pass;
};

inline constexpr SampleRow kSampleRows[] = {
    {"conv1d", "reference", 642.31e6, 4.1e6, 1.8883, 0.00712, 0.00733, 0.9836, 5.12e-6,
     "reference"},
    {"conv1d", "simd", 11.837e6, 0.086e6, 102.46, 0.3866, 0.398, 0.9583, 3.17e-7, "simd"},
    {"conv1d", "blas-im2col", 13.259e6, 0.147e6, 91.473, 0.3451, 0.3612, 0.9631, 2.92e-7,
     "blas-im2col"},
    {"conv1d", "blas-shifted", 10.622e6, 0.0534e6, 114.18, 0.4309, 0.4436, 0.9527, 2.41e-7,
     "blas-shifted"},
    {"maxpool", "reference", 9.931e6, 0.041e6, 0, 0, 0.01391, 0.0152, 0, "reference"},
    {"maxpool", "simd", 0.20147e6, 0.00212e6, 0, 0, 0.6857, 0.0163, 0, "simd"},
    {"linear", "reference", 0.78214e6, 0.00431e6, 2.1578, 0.00814, 0.0081, 0.0012, 1.03e-6,
     "reference"},
    {"linear", "simd", 0.031882e6, 0.000284e6, 52.936, 0.1997, 0.2012, 0.0026, 4.44e-7, "simd"},
    {"linear", "blas-gemm", 0.025117e6, 0.000118e6, 67.194, 0.2535, 0.2554, 0.0018, 4.07e-7,
     "blas-im2col"},
    {"linear", "blas-gemv", 0, 0, 0, 0, 0, 0, 0, ""},
};

inline EventCount sample_count(const SampleRow& row, std::string name, double value,
                               CountStatus status) {
  EventCount count;
  count.name = std::move(name);
  count.status = status;
  if (status == CountStatus::kOk || status == CountStatus::kScaled) {
    count.calls = 40;
    count.value = value * row.median_ns;
    count.total = *count.value * count.calls;
    count.coverage = status == CountStatus::kOk ? 1.0 : 0.617;
  }
  return count;
}

inline std::vector<EventCount> sample_counters(const SampleRow& row) {
  auto task_clock = sample_count(row, "task-clock", 0.9987, CountStatus::kOk);
  task_clock.unit = "ns";
  task_clock.event = "software/task-clock";
  task_clock.source = "kernel";
  auto instructions = sample_count(row, "instructions", 4.1234, CountStatus::kScaled);
  instructions.unit = "1";
  instructions.event = "cpu/event=0xc0";
  instructions.source = "own table";
  const bool pool = std::string(row.op) == "maxpool";
  auto branches = sample_count(row, "branch-misses", 1.7e-5,
                               pool ? CountStatus::kNotCounted : CountStatus::kOk);
  branches.unit = "1";
  if (pool) branches.reason = "the group was never scheduled within 20 ms";
  branches.event = pool ? "" : "cpu/event=0xc3";
  branches.source = "own table";
  auto llc = sample_count(row, "llc-miss", 0, CountStatus::kUnsupported);
  llc.unit = "1";
  llc.reason = "Zen has no generic event for the last-level cache; use amd_l3 (needs root)";
  auto flops = sample_count(row, "flops", 0, CountStatus::kDenied);
  flops.unit = "1";
  flops.reason =
      "perf_event_paranoid is 3, at most 2 is needed: sysctl kernel.perf_event_paranoid=2";
  if (row.median_ns == kSampleRows[0].median_ns) {
    instructions.implausible = "11.2 instructions a cycle; this core can retire 8";
  }
  branches.shown_as = "branch-misses-all";
  return {task_clock, instructions, branches, llc, flops};
}

inline Row sample_row(const SampleRow& sample) {
  Row row;
  row.op = sample.op;
  row.variant = sample.variant;
  row.bandwidth_level = "L2";
  if (row.op == "conv1d") {
    row.shape = {{"k", 2}, {"d_e", 300}, {"d_c", 128}, {"n", 124}, {"batch", 64}};
    row.model = {1212751872, 0, 13824512, 13824512, 606375936};
    row.roofline_ns = 4.711e6;
  } else if (row.op == "maxpool") {
    row.shape = {{"d_c", 128}, {"n", 123}, {"batch", 64}};
    row.model = {0, 1007616, 4063232, 4063232, 1007617};
    row.roofline_ns = 0.13814e6;
  } else {
    row.shape = {{"l", 103}, {"d_c", 128}, {"batch", 64}};
    row.model = {1687755, 0, 112284, 112284, 843776};
    row.roofline_ns = 0.006415e6;
  }
  row.intensity = row.model.flops / row.model.bytes;
  row.bound = row.op == "maxpool" ? Bound::kMemory : Bound::kCompute;
  row.optimised = row.variant != "reference";
  if (sample.median_ns == 0) {
    row.reason = "the library has no sgemv_";
    return row;
  }
  row.calls = static_cast<std::uint64_t>(2e9 / sample.median_ns) + 3;
  row.time_ns = TimeNs{.median = sample.median_ns,
                       .min = sample.median_ns * 0.987,
                       .mean = sample.median_ns * 1.013,
                       .ci95_low = sample.median_ns - sample.half_width_ns * 0.8,
                       .ci95_high = sample.median_ns + sample.half_width_ns,
                       .samples = 47};
  if (sample.gflops > 0) {
    row.gflops = sample.gflops;
    row.peak_fraction = sample.peak_fraction;
    row.peak_fraction_low = sample.peak_fraction * 0.991;
    row.peak_fraction_high = sample.peak_fraction * 1.008;
  }
  row.roofline_fraction = sample.roofline_fraction;
  row.forward_share = sample.share;
  row.pass = sample.pass;
  row.max_rel_error = sample.error;
  row.checked_documents = 64;
  row.counters = sample_counters(sample);
  return row;
}

inline Machine sample_machine() {
  Machine machine;
  machine.cpu_name = "AMD EPYC 9R45";
  machine.kernel = "6.1.0-26-amd64";
  machine.arch = "x86_64";
  machine.id = {Vendor::kAmd, 26, 2, 1};
  machine.isa = {"sse4.2", "avx", "avx2", "fma", "avx512f", "avx512bf16"};
  machine.caches = {{1, 48 << 10, 1}, {2, 1 << 20, 1}, {3, 32 << 20, 2}};
  machine.memory_bytes = 16'678'400'000;
  machine.packages = 1;
  machine.cores = 2;
  machine.cpus = 2;
  machine.virtualized = true;
  machine.hypervisor = "KVM";
  machine.pmu.reason =
      "the hypervisor gives this machine no cpu device under "
      "/sys/bus/event_source/devices";
  machine.perf_event_paranoid = 3;
  return machine;
}

inline ProfileBlas sample_blas() {
  const std::string openblas = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so";
  ProfileBlas blas;
  blas.provider = Provider::kOpenBlas;
  blas.version = "0.3.21";
  blas.path = openblas;
  blas.requested = "libblas.so.3";
  blas.core = "Haswell";
  blas.threading = "pthreads";
  blas.threads = 1;
  blas.environment = {{"OPENBLAS_CORETYPE", "Haswell"}, {"OPENBLAS_L2_SIZE", "512"}};
  const auto add = [&](const char* core, const char* setting, std::optional<double> gflops,
                       std::optional<double> fraction, VectorClass vectors) -> LadderRung& {
    LadderRung& rung = blas.ladder.emplace_back();
    rung.core = core;
    rung.setting = setting;
    rung.library = openblas;
    rung.provider = Provider::kOpenBlas;
    rung.version = "0.3.21";
    rung.gflops = gflops;
    rung.peak_fraction = fraction;
    rung.vector_class = vectors;
    return rung;
  };
  add("SkylakeX", "OPENBLAS_CORETYPE=SkylakeX", 237.4, 0.8958, VectorClass::kAvx512);
  add("Cooperlake", "auto", 235.9, 0.8902, VectorClass::kAvx512);
  LadderRung& found = add("Haswell", "as found", 124.8, 0.4709, VectorClass::kAvx2);
  found.as_found = true;
  found.peak_fraction_low = 0.4691;
  found.peak_fraction_high = 0.4733;
  found.results = {true, "", "8f39bb6be6a2f852"};
  add("Prescott", "OPENBLAS_CORETYPE=Prescott", 45.72, 0.1725, VectorClass::kSse);
  LadderRung& blis = add("generic", "auto", 40.61, 0.1532, VectorClass::kSse);
  blis.library = "/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4";
  blis.provider = Provider::kBlis;
  blis.version = "0.9.0";
  add("Zen", "OPENBLAS_CORETYPE=Zen", std::nullopt, std::nullopt, VectorClass::kNone).reason =
      "the budget of 2 s was used up";
  blas.own_reason = "the same OpenBLAS is among the libraries of this machine";
  blas.results = {true, "", "8f39bb6be6a2f852"};
  blas.ladder_note = "sgemm 768x768x768 on 1 thread, each rung in a child process, 1.83 s in all";
  blas.verdict = VerdictKind::kSuboptimal;
  blas.factor = 1.902;
  blas.factor_low = 1.881;
  blas.factor_high = 1.924;
  blas.why =
      "OPENBLAS_CORETYPE=Haswell holds OpenBLAS to AVX2 kernels on a CPU that runs its AVX-512 "
      "kernels 1.90 times faster";
  blas.fix = "unset OPENBLAS_CORETYPE";
  return blas;
}

inline Profile sample_profile() {
  Profile profile;
  profile.version = "0.1.0";
  profile.command = {"hwprof", "--pin", "0", "--events", "flops,llc-miss", "--docs", "my docs.txt"};
  profile.started_utc = "2026-11-20T22:40:17Z";
  profile.elapsed_s = 9.8127;
  profile.machine = sample_machine();
  profile.pin.requested = profile.pin.actual = {0};
  profile.pin.involuntary_switches_per_s = 1.5;
  profile.simd_target = "AVX3_ZEN4";
  profile.workload.documents = "my docs.txt, LibMultiLabel format";
  profile.workload.embedding = "300 numbers a word drawn from its hash (no --embed)";
  profile.workload.padding = Padding::kOwn;
  profile.workload.shape = {
      {"k", "2"}, {"d_e", "300"}, {"d_c", "128"}, {"l", "103"}, {"batch", "64"}};
  profile.workload.documents_used = 64;
  profile.workload.documents_total = 23149;
  profile.workload.short_documents = 2;
  profile.workload.mean_length = 123.87;
  profile.workload.min_length = 1;
  profile.workload.max_length = 497;
  profile.workload.batch_padding_factor = 3.874;
  Peak peak;
  peak.f32_gflops = 265.07;
  peak.isa = "avx512";
  peak.by_isa = {{"scalar", 16.58}, {"sse", 49.13}, {"avx2", 132.4}, {"avx512", 265.07}};
  peak.bandwidth = {{"L1", 24 << 10, 502.3, 391.4, 433.8},
                    {"L2", 512 << 10, 251.7, 183.2, 201.6},
                    {"L3", 16 << 20, 110.9, 71.14, 78.25},
                    {"memory", 256 << 20, 31.46, 22.87, 24.03}};
  profile.peak = peak;
  profile.blas = sample_blas();
  for (const SampleRow& row : kSampleRows) profile.rows.push_back(sample_row(row));
  profile.passes = {
      {{"reference", {{"conv1d", "reference"}, {"maxpool", "reference"}, {"linear", "reference"}}},
       653.02e6,
       650e6,
       656e6},
      {{"simd", {{"conv1d", "simd"}, {"maxpool", "simd"}, {"linear", "simd"}}},
       12.07e6,
       11.9e6,
       12.2e6},
      {{"blas-im2col", {{"conv1d", "blas-im2col"}, {"maxpool", "simd"}, {"linear", "blas-gemm"}}},
       13.486e6,
       13.2e6,
       13.7e6},
      {{"blas-shifted", {{"conv1d", "blas-shifted"}, {"maxpool", "simd"}, {"linear", "blas-gemm"}}},
       10.849e6,
       10.7e6,
       11e6}};
  profile.complexity = {
      false,
      "blas-shifted",
      {{"conv1d", 606375936, 0.99697, 0.97022, 0.97911, 1.21},
       {"maxpool", 1007617, 0.00166, 0.02846, 0.01857, 0.78},
       {"linear", 843776, 0.00139, 0.00132, 0.00232, 5}},
      {"linear simd takes 5 times the time of its ceiling"},
      {{"linear", "simd", {{"l", 103}, {"batch", 64}}, 75000, 5, {}},
       {"conv1d",
        "blas-im2col",
        {{"k", 2}, {"d_e", 300}},
        41.2e6,
        4.1,
        {"the BLAS, which could be 2.1 times faster (ladder)",
         "the copy of im2col, 9.5 ms timed alone: 23 % of the time"}}},
      "the time does not agree with the complexity analysis: linear simd takes 5 times the time of "
      "its ceiling; conv1d : maxpool : linear take 97.9 : 1.9 : 0.2 % of pass blas-shifted"};
  profile.warnings = {
      {"short-documents",
       "2 documents have fewer words than the filter is wide; they were padded "
       "with zeros"},
      {"environment", "OPENBLAS_L2_SIZE=512 is set and changes how OpenBLAS blocks its products"}};
  return profile;
}

}  // namespace hwprof::report
