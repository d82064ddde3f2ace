// The whole document of each command, written from made-up records and held byte for byte against
// tests/golden/: no key, order or spelling of a value changes unnoticed. Every field of a record
// has a value somewhere and is absent somewhere else, which is what makes this file long: a record
// and the test that writes it belong side by side. After a change on purpose:
//   HWPROF_GOLDEN_WRITE=1 build/tests/src_tests --gtest_filter='Golden*'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "counters/regions/region_report.h"
#include "src/model/sweep_record.h"
#include "src/report/data/writers.h"
#include "src/report/documents/calibration.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/documents/inspect.h"
#include "src/workloads/networks/layer_graph.h"
#include "src/workloads/networks/layer_json.h"
#include "tests/golden_file.h"
#include "tests/sample_profile.h"

namespace hwprof::report {
namespace {

TimeNs sliced_time() {
  TimeNs time;
  time.median = 11.5e6;
  time.min = 11.25e6;
  time.mean = 11.75e6;
  time.samples = 2;
  time.slices.resize(2);
  time.slices[0].ns = 11.25e6;
  time.slices[1].ns = 11.75e6;
  time.slices[1].peak_gflops = 260.5;
  time.slices[1].migrated = true;
  time.slices[1].involuntary_switches = 3;
  time.slices[1].page_faults = 17;
  return time;
}

// Beside other programs: half of the time on the CPU, and slower than alone.
void disturb(report::Row& row) {
  row.cpu_time_ns = report::CpuTimeNs{.median = 6.0e6,
                                      .min = 5.5e6,
                                      .ci95_low = 5.9e6,
                                      .ci95_high = 6.125e6,
                                      .slices = {5.75e6, 6.25e6}};
  row.on_cpu = 0.521;
  row.left_out = {.elsewhere = 4, .moved = 1, .stolen = 2, .waited = 3};
  row.disturbed = true;
  row.undisturbed = report::Undisturbed{.gflops = 240.5, .peak_fraction = 0.906};
  row.roofline_fraction = 1.13;
  row.roofline_flag =
      "its bytes come from a faster level than L3, in whose size its working set "
      "falls";
}

// A profile without what sample_profile() has in plenty.
Profile bare_profile() {
  Profile profile = sample_profile();
  profile.rows.clear();
  profile.passes.clear();
  profile.complexity = {};
  profile.blas = {};
  profile.warnings.clear();
  return profile;
}

Profile text_cnn() {
  Profile profile = sample_profile();
  profile.partial = true;
  profile.rows[1].time_ns = sliced_time();
  disturb(profile.rows[1]);
  profile.pin.on_cpu = 0.521;
  profile.pin.others = {{.pid = 4711, .name = "cc1plus", .share = 0.475}};
  Repetition repeated;
  repeated.loops = 100;
  repeated.best_ns = 11.25e6;
  repeated.outliers = {{1, 11.75e6, "3 involuntary context switches (usually 0)"}};
  profile.rows[1].repeated = repeated;
  repeated.outliers.clear();
  repeated.outliers_reason = "fewer than six slices";
  profile.rows[2].repeated = repeated;
  profile.rows[2].counted_to_model_flops = 1.0625;
  PmuDevice device;
  device.name = "cpu_atom";
  device.type = 10;
  device.cpus = {0, 1};
  profile.machine.pmu.devices = {device};
  profile.machine.pmu.counters = 6;
  profile.machine.nmi_watchdog = true;
  profile.workload.shape[0].second = "2+4+8";
  return profile;
}

EventCount made_count(const char* name, double total, const char* reason) {
  EventCount count;
  count.name = name;
  count.unit = "1";
  count.reason = reason;
  if (total > 0) {
    count.status = CountStatus::kOk;
    count.coverage = 1;
    count.calls = 40;
    count.total = total;
    count.value = total / 40;
  }
  return count;
}

Profile layers() {
  Profile profile = bare_profile();
  profile.workload = {};
  profile.workload.name = "resnet20";
  profile.workload.layers = 2;
  profile.workload.shape = {{"input", "1x32x32x3"}, {"batch", "1"}};
  LayerForm eager;
  eager.name = "eager";
  eager.meaning = "each layer by itself";
  eager.whole_ns = sliced_time();
  eager.sum_ns = 11.6e6;
  eager.sum_to_whole = 1.0087;
  eager.inferences = 30;
  LayerRow conv;
  conv.name = "Convolution2DFunction";
  conv.label = "conv1";
  conv.output = {1, 32, 32, 16};
  conv.share = 0.75;
  conv.far_above = true;
  conv.row = sample_row(kSampleRows[1]);
  LayerRow reshape;
  reshape.index = 1;
  reshape.name = "Reshape";
  reshape.label = "reshape";
  reshape.output = {1, 64};
  reshape.row.op = "reshape";
  reshape.row.variant = "eager";
  reshape.row.reason = "it moves nothing";
  eager.layers = {conv, reshape};
  eager.types = {{"Convolution2DFunction", 8.7e6, 1, 0.75}};
  LayerForm blas;
  blas.name = "blas";
  blas.meaning = "products by the BLAS";
  blas.reason = "no BLAS is installed";
  Against against;
  against.file = "table.csv";
  against.form = "eager";
  against.layers = {{"Convolution2DFunction", "conv1", 1e8, 8.7e6, 11.5},
                    {"Reshape", "", 1e4, {}, {}}};
  against.types = {{"Convolution2DFunction", "", 1e8, 8.7e6, 11.5}};
  against.total = {"", "", 1.1e8, 11.6e6, 9.48};
  Layers& layers = profile.layers.emplace();
  layers.clock_ns = 21.5;
  layers.nothing = {made_count("cycles", 1234, ""), made_count("flops", 0, "no PMU here")};
  layers.forms = {eager, blas};
  layers.against = against;
  return profile;
}

Profile training() {
  Profile profile = bare_profile();
  profile.workload = {};
  profile.workload.name = "mlp";
  profile.workload.shape = {{"widths", "784-128-10"}, {"batch", "100"}};
  Training& training = profile.training.emplace();
  training.images = "generated digits, seed 0";
  training.held_out = "the last sixth";
  training.train_images = 10000;
  training.held_out_images = 2000;
  training.widths = {784, 128, 10};
  training.batch = 100;
  training.epochs = 3;
  training.learning_rate = 0.1;
  training.weight_decay = 0.01;
  training.notes = {"A phase is timed in one thread."};
  training.load.name = "load";
  training.load.calls = 1;
  training.load.total_ns = 5e7;
  TrainingPhase forward;
  forward.name = "forward";
  forward.calls = 200;
  forward.total_ns = 1e8;
  forward.share = 0.25;
  forward.flops = 5e9;
  forward.gflops = 50;
  forward.peak_fraction = 0.5;
  forward.counters = {made_count("page-faults", 1234, ""), made_count("cycles", 0, "no PMU here")};
  TrainingRun simd;
  simd.variant = "simd";
  simd.epochs = {{1, 1.25, 0.8125, 40000}, {2, 0.5, 0.9375, 50000}};
  simd.phases = {forward};
  simd.samples_per_s = 45000;
  TrainingRun blas;
  blas.variant = "blas";
  blas.reason = "no BLAS is installed";
  training.runs = {simd, blas};
  return profile;
}

Regions made_regions() {
  Regions regions;
  regions.work = "the forward pass blas-shifted, 40 times";
  regions.view = {GroupBy::kShape, "self", 10, 0};
  regions.hidden = 3;
  regions.processes = 2;
  regions.memory_reason = "a part of the processes does not watch it";
  regions.notes = {"1 region was left by an outer one."};
  regions.trace = RegionTrace{"trace.json", 4711, 12};
  Region forward;
  forward.name = "forward";
  forward.path = {"forward"};
  forward.threads = 1;
  forward.calls = 40;
  forward.total_ns = 4e8;
  forward.self_ns = 1e6;
  forward.total_share = 1;
  forward.self_share = 0.0025;
  Region conv = forward;
  conv.name = "conv1d";
  conv.type = "Conv1d";
  conv.shape = "k=2 d_e=300";
  conv.path = {"forward", "conv1d"};
  conv.depth = 1;
  conv.flops = 4.8e10;
  conv.bytes = 5e8;
  conv.gflops = 121.5;
  conv.memory = RegionMemory{4096, 8192, 16384};
  RegionCount clock;
  clock.name = "task-clock";
  clock.unit = "ns";
  clock.total = 3.9e8;
  clock.self = 3.8e8;
  clock.status = CountStatus::kOk;
  RegionCount flops;
  flops.name = "flops";
  flops.unit = "1";
  flops.status = CountStatus::kUnsupported;
  flops.reason = "no PMU here";
  forward.counts = conv.counts = {clock, flops};
  Region open;
  open.name = "open";
  open.path = {"open"};
  open.flops = 10;
  open.counts = {clock, flops};
  regions.rows = {forward, conv, open};
  OverheadRow none, sampling;
  none.mode = WatchMode::kNone;
  none.pass_ns = 1e7;
  none.ratio = none.ratio_low = none.ratio_high = 1;
  none.memory_bytes = 0;
  sampling.mode = WatchMode::kSampling;
  sampling.reason = "perf_event_paranoid is 3";
  regions.overhead = {none, sampling};
  return regions;
}

Scaling made_scaling() {
  Scaling scaling;
  scaling.cpus = 2;
  scaling.base_threads = 1;
  scaling.counts = {{1, 1, 265.07, false}, {4, 2, 520.5, true}};
  ScalingRow row;
  row.op = "conv1d";
  row.variant = "simd";
  row.shape = "k=2 d_e=300";
  row.points = {{11.8e6, 1, {}, {}, 1, {}, {}, {0.99}, ""},
                {6.2e6, 1.9, 1.86, 1.95, 0.475, 0.465, 0.4875, {}, "/proc does not say"}};
  scaling.rows = {row};
  return scaling;
}

TEST(Golden, Profile) {
  expect_golden("profile.json", profile_json(text_cnn()));
  expect_document("profile", profile_document(text_cnn()));
  expect_golden("profile.csv", profile_csv(text_cnn()));
  expect_golden("profile_empty.json", profile_json(Profile{}));
  expect_golden("profile_layers.json", profile_json(layers()));
  expect_document("profile_layers", profile_document(layers()));
  expect_golden("profile_layers.csv", profile_csv(layers()));
  expect_golden("profile_training.json", profile_json(training()));
  expect_document("profile_training", profile_document(training()));
  expect_golden("profile_training.csv", profile_csv(training()));
  Profile profile = bare_profile();
  profile.regions = made_regions();
  profile.scaling = made_scaling();
  profile.peak.reset();
  profile.peak_reason = "interrupted before";
  expect_golden("profile_regions_scaling.json", profile_json(profile));
  expect_golden("profile_regions.csv", regions_csv(*profile.regions));
}

void add_modules(report::Run& run) {
  Module linear;
  linear.name = "fc";
  linear.type = "Linear";
  linear.shape = "64x300";
  linear.occurrence = 20;
  linear.total_ns = linear.self_ns = 2.5e8;
  linear.total_share = linear.self_share = 0.2;
  linear.flops = 5e9;
  linear.gflops = 20;
  linear.peak_fraction = 0.125;
  linear.counts = {
      {"page-faults", "1", 12, 12, CountStatus::kOk, ""},
  };
  ModuleCall call;
  call.routine = "sgemm_";
  call.library = "/usr/lib/libopenblas.so.0";
  call.provider = Provider::kOpenBlas;
  call.core = "Haswell";
  call.threads = 2;
  call.calls = 20;
  call.time_ns = 2e8;
  call.gflops = 25;
  call.peak_fraction = 0.15;
  call.shapes = {{.m = 64, .n = 10, .k = 300, .transposed_a = true, .count = 20}};
  ModuleCall primitive;
  primitive.routine = "convolution backward_data";
  primitive.library = "/usr/lib/libdnnl.so.2";
  primitive.provider = Provider::kOneDnn;
  primitive.kernel = "jit:avx512_core";
  primitive.type = "f32";
  primitive.peak_fraction_reason = "the shapes do not tell the FLOP of these calls";
  linear.calls = {call, primitive};
  linear.evidence = "openblas Haswell (256-bit) on 2 threads, 80 % of its time";
  Module unknown;
  unknown.name = "Net backward";
  unknown.flops_reason = "no model of this type's work";
  unknown.calls_reason = "calls were not watched";
  unknown.counts = {
      {"page-faults", "1", std::nullopt, std::nullopt, CountStatus::kUnsupported, "no call ended"}};
  run.modules = {linear, unknown};
  run.module_types = {linear};
  ModuleHooks& hooks = run.module_hooks.emplace();
  hooks.processes = 2;
  hooks.with_modules = 1;
  hooks.torch = "1.13.1";
  hooks.onednn = "avx512";
  hooks.hooks = 800;
  hooks.cost_ns = 8e6;
  hooks.cost_share = 0.004;
  hooks.cores = 2;
  hooks.notes = {"process 4711 ended by os._exit"};
}

std::vector<report::PreparedCall> made_primitives() {
  report::PreparedCall convolution;
  convolution.kind = "convolution";
  convolution.direction = "backward_data";
  convolution.implementation = "jit:avx512_core";
  convolution.type = "f32";
  convolution.shape = "4x8x20x20 * 16x8x3x3 -> 4x16x18x18";
  convolution.library = "/usr/lib/libdnnl.so.2";
  convolution.caller = "/usr/lib/libtorch_cpu.so";
  convolution.count = 20;
  convolution.time_ns = 3e6;
  convolution.time_share = 0.75;
  convolution.flops = 6e7;
  convolution.peak_fraction = 0.2;
  report::PreparedCall unknown;
  unknown.library = "/usr/lib/libdnnl.so.9";
  unknown.count = 3;
  unknown.time_ns = 1e6;
  unknown.time_share = 0.25;
  unknown.peak_fraction_reason = "no FLOP are counted of this kind of work";
  unknown.reason = "the library does not tell of these calls";
  return {convolution, unknown};
}

std::vector<report::PreparedCall> made_transforms() {
  report::PreparedCall transform;
  transform.kind = "c2c";
  transform.direction = "forward";
  transform.type = "f64";
  transform.shape = "8 of 512x512";
  transform.library = "/usr/lib/libfftw3.so.3";
  transform.caller = "/usr/bin/solver";
  transform.count = 30;
  transform.time_ns = 2e6;
  transform.time_share = 1;
  transform.flops = 8e6;
  transform.peak_fraction_reason = "no peak was measured";
  return {transform};
}

std::vector<report::ExactCall> made_exact_calls() {
  report::ExactCall call;
  call.symbol = "cblas_sgemm";
  call.call = 1;
  call.caller = "/usr/bin/solver";
  call.library = "/usr/lib/libblas.so.3";
  call.m = call.n = call.k = 128;
  call.form = "row-major, B transposed";
  call.model_flops = 4194304;
  call.to_model = 4229058.0 / 4194304;
  report::ExactCount& count = call.count.emplace();
  count.instructions = 571831;
  count.flops = 4229058;
  count.flops_by_precision = {{"single", 4229058}};
  count.flops_by_width = {{"256", 4229056}, {"scalar", 2}};
  count.operations = {{"fma", 2097152}, {"multiply", 32770}};
  count.bytes_loaded = 4300000;
  count.bytes_stored = 300000;
  report::ExactFunction kernel;
  kernel.name = "sgemm_kernel_HASWELL";
  kernel.library = "/usr/lib/libopenblas.so.0";
  kernel.instructions = 544910;
  kernel.flops = 4229056;
  kernel.flops_by_width = {{"256", 4229056}};
  kernel.bytes_loaded = 4200000;
  kernel.bytes_stored = 66000;
  report::ExactFunction unnamed;
  unnamed.library = "/usr/lib/libblas.so.3";
  unnamed.instructions = 26921;
  unnamed.flops = 2;
  unnamed.flops_by_width = {{"scalar", 2}};
  count.by_function = {kernel, unnamed};
  report::ExactCall refused;
  refused.symbol = "cblas_sgemm";
  refused.call = 2;
  refused.reason = "not counted: 2 other threads of the process ran meanwhile";
  return {call, refused};
}

report::Run made_run() {
  report::Run run;
  run.version = "0.1.0";
  run.command = {"python3", "train.py"};
  run.started_utc = "2026-11-20T22:40:17Z";
  run.exit = 139;
  run.wall_s = 1.25;
  run.user_s = 1.5;
  run.system_s = 0.25;
  run.peak_rss_bytes = 123456789;
  run.cpus_used = 1.4;
  run.slowed_by_observing = 0.14;
  run.pinned = {0, 2};
  run.machine = sample_machine();
  run.counters = {made_count("cycles", 1e9, ""), made_count("flops", 0, "no PMU here")};
  run.regions = made_regions();
  add_modules(run);
  run.exact = made_exact_calls();
  run.exact_reason = "1 call left no count";
  run.warnings = {{"static", "the program is linked statically"}};
  RunBlas& blas = run.blas;
  blas.verdict = VerdictKind::kSuboptimal;
  blas.provider = Provider::kOpenBlas;
  blas.version = "0.3.21";
  blas.path = "/usr/lib/libopenblas.so.0";
  blas.core = "Haswell";
  blas.threads = 2;
  blas.factor = 1.9;
  blas.factor_of = FactorOf::kCalls;
  blas.calls_covered = 0.93;
  blas.calls_note = "3 shapes made again, 93 % of the work in calls";
  blas.fastest = "SkylakeX (512-bit) of libopenblas";
  blas.blas_share = 0.9;
  blas.blas_share_of = "CPU time";
  blas.program_factor = 1.74;
  blas.why = "it runs AVX2 kernels";
  blas.fix = "unset OPENBLAS_CORETYPE";
  blas.findings = {"90 % of the CPU time is in the BLAS."};
  blas.ladder = sample_blas().ladder;
  blas.ladder_note = "after the command";
  BlasEvidence& evidence = blas.evidence;
  evidence.declared.environment = {{"OPENBLAS_CORETYPE", "Haswell"}};
  evidence.declared.default_library = "/usr/lib/libblas.so.3";
  evidence.declared.default_provider = Provider::kReference;
  evidence.declared.needed = {"libopenblas.so.0"};
  LoadedLibrary loaded;
  loaded.path = "/usr/lib/libopenblas.so.0";
  loaded.soname = "libopenblas.so.0";
  loaded.build_id = "0123abcd";
  loaded.provider = Provider::kOpenBlas;
  loaded.serves_blas = true;
  evidence.loaded = {loaded,
                     LoadedLibrary{"/usr/lib/libx.so", "", "", Provider::kUnknown, false, false}};
  ChosenCore selected;
  selected.provider = Provider::kOpenBlas;
  selected.path = "/usr/lib/libopenblas.so.0";
  selected.version = "0.3.21";
  selected.core = "Haswell";
  selected.vector_class = VectorClass::kAvx2;
  selected.threads = 2;
  selected.how = "gotoblas pointer of process 4711";
  ChosenCore unknown;
  unknown.provider = Provider::kMkl;
  unknown.reason = "it does not say";
  evidence.chosen_cores = {selected, unknown};
  evidence.called.how = "uprobe";
  CallSite site;
  site.symbol = "sgemm_";
  site.library = "/usr/lib/libopenblas.so.0";
  site.caller = "/usr/lib/libtorch_cpu.so";
  site.count = 10;
  site.time_ns = 5e8;
  site.flops = 1e10;
  site.time_share = 1;
  site.peak_fraction = 0.1;
  site.shapes = {{.m = 768, .n = 768, .k = 768, .count = 9}};
  site.calls_of_other_shapes = 1;
  site.numbers = {.flag_calls = 10,
                  .denormal_calls = 4,
                  .invalid_calls = 1,
                  .flushed_calls = 0,
                  .denormal_time_ns = 3e8,
                  .denormal_slowdown = 14,
                  .sampled_operands = 4,
                  .nan_operands = 2,
                  .infinite_operands = 1,
                  .denormal_operands = 3};
  site.denormal_replay = {.m = 64,
                          .n = 48,
                          .k = 32,
                          .operands_ratio = 1.25,
                          .operands_low = 1.125,
                          .operands_high = 1.5,
                          .results_ratio = 4,
                          .results_low = 3.5,
                          .results_high = 4.5,
                          .rounds = 21,
                          .reason = ""};
  site.nan_first = true;
  CallSite other;
  other.symbol = "dgemm_";
  other.library = "/usr/lib/libopenblas.so.0";
  other.time_share_reason = other.peak_fraction_reason = "these calls are not timed";
  evidence.called.calls = {site, other};
  evidence.called.primitives = made_primitives();
  evidence.called.transforms = made_transforms();
  evidence.called.wall_ns = 4e8;
  evidence.called.added_ns = 2e8;
  evidence.called.lost = 3;
  evidence.called.blind_to = {"calls inside one library"};
  evidence.called.numbers_reason = "the flags are not known";
  evidence.called.reason = "records were lost";
  Executed& executed = evidence.executed;
  executed.samples = 1000;
  executed.lost = 1;
  executed.frequency_hz = 999;
  executed.by_library = {{"libopenblas.so.0", "", 900, 0.9}, {"libc.so.6", "", 100, 0.1}};
  executed.by_symbol = {{"kernel", "/a.so", 500, 0.5}, {"kernel", "/b.so", 400, 0.4}};
  executed.vector_width = {{"256", "", 900, 0.9}, {"no-loop", "", 100, 0.1}};
  LibraryLoops loops;
  loops.library = "/usr/lib/libopenblas.so.0";
  loops.provider = Provider::kOpenBlas;
  loops.symbol = "sgemm_kernel_HASWELL";
  loops.width = "256";
  loops.fma = true;
  loops.samples = 900;
  loops.fraction = 0.9;
  loops.symbol_fraction = 0.7;
  loops.threads = 2;
  loops.at_once = 1.8;
  LibraryLoops generated;
  generated.library = "[generated code]";
  generated.width = "scalar";
  executed.loops = {loops, generated};
  HotLine line;
  line.file = "train.c";
  line.line = 42;
  line.samples = 7;
  line.fraction = 0.007;
  executed.lines = {line};
  executed.waiting = {{"__sched_yield", "/lib/libc.so.6", 100, 0.1}};
  run.blas.time_shares = {{"BLAS", 0.9, 0.88, 0.917}, {"waiting threads", 0.1, 0.083, 0.12}};
  executed.notes = {"1 sample was lost"};
  ThreadUse& threads = run.threads.emplace();
  threads.arithmetic_share = 0.75;
  threads.other_share = 0.125;
  threads.spin_share = 0.09375;
  threads.idle_worker_share = 0.03125;
  threads.estimated = true;
  threads.run_ns = 3e9;
  threads.ready_ns = 0.25e9;
  threads.blocked_ns = 1.5e9;
  threads.throttled_reason = "no cgroup with a CPU controller can be seen";
  threads.coverage = 0.96875;
  threads.pools = {{"libgomp", 2, 0.09375, 1.5e9, 0.25e9, 0.125e9},
                   {.name = "OpenBLAS", .threads = 1, .spin_share = 0.03125}};
  threads.sentences = {
      {"9 % of the CPU time is spent spinning at libgomp's barriers",
       "150 samples lie in loops that only wait; 97 % of the CPU time accounted for", ""},
      {"4 busy threads share 2 CPUs", "ready without a CPU in 14 % of the threads' time",
       "OMP_NUM_THREADS=2"}};
  LargeMemory& memory = run.memory.emplace();
  memory.areas = {{"", 2UL << 30U, 1UL << 30U, 1UL << 29U},
                  {"[heap]", 64UL << 20U, 32UL << 20U, 0}};
  memory.huge_pages = "madvise";
  memory.nodes = {{0, 1UL << 30U, 0.25}, {1, 32UL << 20U, 0.75}};
  memory.looks = 7;
  memory.running_seen = 40;
  LineUse use;
  use.file = "/home/me/train.py";
  use.line = 18;
  use.function = "step";
  use.source = "y = a @ b";
  use.self_share = 0.625;
  use.total_share = 0.75;
  use.cpu_ns = 0.5e9;
  LineCall product;
  product.routine = "cblas_sgemm";
  product.library = "/usr/lib/libopenblas.so.0";
  product.provider = "openblas";
  product.core = "Haswell";
  product.share = 0.5;
  product.calls = 200;
  product.time_ns = 0.2e9;
  product.cores = 2;
  product.gflops = 64;
  product.peak_fraction = 0.16;
  product.shapes = {{.m = 512, .n = 256, .k = 512, .count = 200, .time_ns = 0.2e9}};
  use.calls = {product};
  use.parts = {{"Python", 0.125}};
  LineUse compiled;
  compiled.file = "/home/me/step.cpp";
  compiled.line = 7;
  compiled.function = "advance(double*, int)";
  compiled.language = Language::kNative;
  compiled.source = "x[i] += dt * v[i];";
  compiled.self_share = compiled.total_share = 0.125;
  compiled.cpu_ns = 0.1e9;
  compiled.parts = {{"own code", 0.09375}, {"libc.so.6", 0.03125}};
  run.lines = {use, compiled};
  run.lines_known = {.coverage = 0.75,
                     .versions = {"Python 3.11.2"},
                     .gaps = {{"worker threads that waited", 0.25}},
                     .user_mode = true,
                     .notes = {}};
  evidence.achieved_rate.gflops = 20;
  evidence.achieved_rate.peak_fraction = 0.08;
  evidence.achieved_rate.cores = 1.25;
  evidence.achieved_rate.core_peak_gflops = 200;
  evidence.achieved_rate.served_share = 0.97;
  evidence.achieved_rate.how = "calls and samples";
  Repeats& repeats = run.repeats.emplace();
  repeats.wanted = 3;
  repeats.warmup = 1;
  TimedRun timed;
  timed.wall_s = 1.25;
  timed.page_faults = 1000;
  timed.major_faults = 1;
  timed.voluntary_switches = 5;
  timed.involuntary_switches = 2;
  TimedRun watched = timed;
  watched.waited_s = 0.01;
  watched.migrations = 1;
  watched.peak_gflops = 100.5;
  repeats.runs = {timed, watched};
  repeats.wall_s.samples = {1.25, 1.5};
  repeats.wall_s.best = 1.25;
  repeats.wall_s.median = 1.375;
  repeats.wall_s.worst = 1.5;
  repeats.wall_s.ci95_low = 1.25;
  repeats.wall_s.ci95_high = 1.5;
  repeats.outliers = {{1, 1.5, 0.1, "1 migration (usual: 0)"}};
  repeats.waited_reason = "schedstat is off";
  repeats.migrations_reason = "perf does not count";
  repeats.peak_reason = "not pinned";
  repeats.stopped = "interrupted";
  repeats.notes = {"Fewer than 6 runs have no interval."};
  return run;
}

TEST(Golden, Run) {
  expect_golden("run.json", run_json(made_run()));
  expect_document("run", run_document(made_run()));
  expect_document("verdict", verdict_document(made_run()));
  report::Run attached;
  attached.attached_pid = 4711;
  attached.detached = true;
  attached.peak_rss_reason = "it runs on";
  attached.blas.evidence.achieved_rate.reason = "no call was seen";
  expect_golden("run_attached.json", run_json(attached));
}

Sweep made_sweep() {
  Sweep sweep;
  sweep.run = bare_profile();
  sweep.run.blas = sample_blas();
  sweep.op = "conv1d";
  sweep.variant = "simd";
  sweep.asked = "convolution";
  sweep.blas = sweep.run.blas;
  sweep.held = {{"k", 2}, {"d_e", 300}};
  sweep.swept = {{"n", 64, 1024}};
  sweep.points.resize(2);
  sweep.points[0].row = sample_row(kSampleRows[1]);
  sweep.points[1].row = sample_row(kSampleRows[9]);
  sweep.points[0].at = {{"n", 64}};
  sweep.points[0].working_set_bytes = 1e6;
  sweep.points[0].level = "L2";
  sweep.points[0].model_ns = 1.1e7;
  sweep.points[0].time_to_model = 1.05;
  sweep.points[1].at = {{"n", 1024}};
  ScalingLaw time, flop;
  time.quantity = "time";
  time.size = "n";
  time.held = "k=8";
  time.exponent = 1.02;
  time.low = 0.98;
  time.high = 1.06;
  time.model_exponent = 1;
  time.from = 64;
  time.to = 1024;
  time.points = 2;
  time.agrees = true;
  time.text = "time grows as n^1.02";
  time.causes = {"it leaves L2"};
  flop.quantity = "flop";
  flop.size = "n";
  flop.held = "joint";
  flop.text = "not judged";
  flop.reason = "no PMU here";
  sweep.laws = {time, flop};
  sweep.tolerance = 0.05;
  sweep.agrees = true;
  sweep.text = "The time agrees.";
  return sweep;
}

TEST(Golden, Sweep) {
  Sweep sweep = made_sweep();
  expect_golden("sweep.json", sweep_json(sweep));
  expect_document("sweep", sweep_document(sweep));
  expect_golden("sweep.csv", sweep_csv(sweep));
  sweep.blas.reset();
  sweep.agrees.reset();
  sweep.points.clear();
  expect_golden("sweep_empty.json", sweep_json(sweep));
}

TEST(Golden, Comparison) {
  Comparison comparison;
  comparison.version = "0.1.0";
  comparison.threshold = 0.05;
  comparison.baseline = {
      "a.json", {"a2.json", "a3.json"}, "hwprof.profile/1", "2026-11-20T22:40:17Z", {"hwprof"}};
  FileComparison& file = comparison.files.emplace_back();
  file.file = {"b.json", {}, "hwprof.profile/1", "", {"hwprof", "-q"}};
  ComparedRow row;
  row.group = "conv1d  k=2 d_e=300, 1 thread";
  row.name = "simd";
  row.label = "conv1d simd";
  row.verdict = Change::kSlower;
  row.baseline_ns = 1e7;
  row.ns = 1.2e7;
  row.baseline_samples = 40;
  row.samples = 41;
  row.ratio = 1.2;
  row.ratio_low = 1.15;
  row.ratio_high = 1.25;
  row.p = 1e-9;
  row.p_holm = 2e-9;
  row.peak_ratio = 1.19;
  row.peak_ratio_low = 1.14;
  row.peak_ratio_high = 1.24;
  ComparedRow lost;
  lost.group = "linear  l=103, 1 thread";
  lost.name = "blas-gemv";
  lost.label = "linear blas-gemv";
  lost.verdict = Change::kNotComparable;
  lost.reason = "no time in b.json";
  ComparedRow open = row;
  open.group = "maxpool  k=2, 1 thread";
  open.label = "maxpool simd";
  open.verdict = Change::kUndecided;
  open.ratio = 1.24;
  open.ratio_low = 0.91;
  open.ratio_high = 1.37;
  open.runs_needed = 12;
  file.rows = {row, open, lost};
  file.only_in_baseline = {"maxpool simd"};
  file.only_here = {"maxpool reference, \"other\""};
  file.warnings = {{"kernel", "6.1 and 6.2"}};
  comparison.verdict = headline(comparison).text;
  expect_golden("compare.json", comparison_json(comparison));
  expect_document("compare", comparison_document(comparison));
  expect_golden("compare.csv", comparison_csv(comparison));
  file.rows[1].ratio_low = 1e-38;
  file.rows[1].ratio_high = 1e38;
  EXPECT_NE(headline(comparison).text.find("1.24 [below 0.001, above 1000]"), std::string::npos)
      << headline(comparison).text;
}

TEST(Golden, Blas) {
  BlasSurvey survey;
  survey.version = "0.1.0";
  survey.machine = sample_machine();
  survey.blas = sample_blas();
  SurveyedBlas library;
  library.path = "/usr/lib/libopenblas.so.0";
  library.how = "loader cache libopenblas.so.0";
  library.provider = Provider::kOpenBlas;
  library.version = "0.3.21";
  library.core = "Haswell";
  library.threading = "pthreads";
  library.threads = 1;
  library.is_default = true;
  library.sgemm_gflops = 124.8;
  library.sgemm_peak_fraction = 0.47;
  library.dgemm_gflops = 62.5;
  library.dgemm_peak_fraction = 0.235;
  library.size = 768;
  library.select = "update-alternatives --set libblas.so.3 /usr/lib/libopenblas.so.0";
  SurveyedBlas broken;
  broken.path = "/opt/broken.so";
  broken.how = "given";
  broken.reason = "it has no sgemm_";
  survey.libraries = {library, broken};
  survey.notes = {"1 library could not be measured."};
  expect_golden("blas.json", survey_json(survey));
  expect_document("blas", survey_document(survey));
}

TEST(Golden, Node) {
  Node node;
  node.version = "0.1.0";
  node.machine = sample_machine();
  node.started_utc = "2026-11-27T06:00:33Z";
  node.looked_at = 311;
  node.look_s = 0.0437;
  NodeLibrary openblas;
  openblas.provider = Provider::kOpenBlas;
  openblas.version = "0.3.21";
  openblas.core = "Prescott";
  openblas.vector_class = VectorClass::kSse;
  openblas.threads = 8;
  openblas.path = "/usr/lib/libopenblas.so.0";
  openblas.verdict = VerdictKind::kUnoptimised;
  openblas.factor = 4.1;
  openblas.why = "OPENBLAS_CORETYPE=Prescott is set in the environment";
  openblas.fix = "restart the process after: unset OPENBLAS_CORETYPE";
  NodeLibrary gone;
  gone.provider = Provider::kUnknown;
  gone.path = "/usr/lib/libblas.so.3.11.0";
  gone.deleted = true;
  gone.reason = "the file is no longer at its path";
  gone.why = "its file was replaced or removed since the process began";
  NodeProcess slow;
  slow.pid = 4711;
  slow.uid = 1000;
  slow.user = "ann";
  slow.program = "python3";
  slow.job = "slurm 123.0";
  slow.job_from = "cgroup";
  slow.libraries = {openblas};
  slow.environment = {{"OMP_NUM_THREADS", "8"}, {"OPENBLAS_CORETYPE", "Prescott"}};
  slow.threads = 9;
  slow.cpus_used = 7.25;
  slow.cpus_used_over = CpuOver::kInterval;
  slow.verdict = openblas.verdict;
  slow.why = openblas.why;
  slow.fix = openblas.fix;
  NodeProcess second = slow;
  second.pid = 4712;
  second.cpus_used = 6.5;
  NodeProcess mixed;
  mixed.pid = 99;
  mixed.user = "0";
  mixed.program = "solver, \"x\"";
  mixed.libraries = {openblas, gone};
  mixed.environment_reason = "Permission denied";
  mixed.threads = 1;
  mixed.why = "it has loaded several, and which of them it calls is not known";
  mixed.fix = "hwprof attach PID";
  node.processes = {slow, second, mixed};
  node.unread = {{"of other users: run hwprof as root", 3, 1}, {"ended meanwhile", 1, 5000}};
  node.blas_reason = "not measured (--no-ladder)";
  expect_golden("node.json", node_json(node));
  expect_document("node", node_document(node));
  expect_golden("node.csv", node_csv(node));
}

TEST(Golden, Machine) {
  Doctor doctor;
  doctor.version = "0.1.0";
  doctor.machine = sample_machine();
  doctor.cpus = {0, 1};
  doctor.findings = {{"load", State::kGood, "quiet", "", ""},
                     {"paranoid", State::kMend, "level 4", "nobody may count", "sysctl x=1"},
                     {"smt", State::kNote, "on", "siblings share a core", ""},
                     {"turbo", State::kUnknown, "not visible", "", ""}};
  expect_golden("doctor.json", doctor_json(doctor));
  expect_document("doctor", doctor_document(doctor));

  PeakReport peak;
  peak.version = "0.1.0";
  peak.machine = sample_machine();
  peak.pinned = {0};
  peak.cpus = {0};
  peak.peak = *sample_profile().peak;
  expect_golden("peak.json", peak_report_json(peak));
  expect_document("peak", peak_document(peak));

  Events events;
  events.version = "0.1.0";
  events.cpu_name = "A CPU";
  events.cpu_id = "intel/6/143";
  events.cpu = 0;
  events.pmu = "there is none";
  events.libpfm = "libpfm4 does not know it";
  EventLine flops;
  flops.resolved.name = flops.resolved.shown_as = "flops";
  flops.resolved.event = "cpu/FP:SCALAR/ 0x03c7 + 8 x cpu/FP:PACKED/ 0x20c7";
  flops.resolved.source = "own table";
  flops.resolved.meaning = "operations";
  flops.resolved.caveat = "FMA counts twice";
  flops.resolved.document = "a manual";
  flops.terms = {{"FP:SCALAR", 0x3c7, 1}, {"FP:PACKED", 0x20c7, 8}};
  flops.tried = CountStatus::kUnsupported;
  flops.reason = "no PMU";
  EventLine none;
  none.resolved.name = none.resolved.shown_as = "llc-miss";
  events.cores = {{"Intel Sapphire Rapids", "cpu", {flops, none}}};
  expect_golden("events.json", events_json(events));
  expect_document("events", events_document(events));
  Events elsewhere;
  elsewhere.here = false;
  elsewhere.cpu_id = "arm/65/1";
  elsewhere.cores.resize(1);
  expect_golden("events_elsewhere.json", events_json(elsewhere));

  model::Calibration calibration;
  calibration.version = "0.1.0";
  calibration.calibrated_utc = "2026-11-26T21:00:00Z";
  calibration.cpu_name = "A CPU";
  calibration.key = {"intel/6/143", "cpu", "0x2b0", "6.1.0"};
  calibration.kept_in = "/home/a/.cache/hwprof/calibration_a.json";
  calibration.events = {
      {"flops",
       "cpu/FP/",
       model::Calibrated::kOff,
       0.5,
       1.0,
       "",
       {{"add, scalar float", 160000, 160000, 1.0},
        {"FMA, 256-bit float", 2560000, 1280000, 0.5},
        {"maximum, 256-bit float", 0, 1280000, std::nullopt}}},
      {"flops-dp", "", model::Calibrated::kAbsent, {}, {}, "this core has none", {}},
      {"instructions",
       "cpu/INST/",
       model::Calibrated::kExact,
       1.0,
       1.0,
       "",
       {{"integer additions", 200000, 200003, 1.000015}}}};
  expect_golden("calibration.json", calibration_json(calibration));
  expect_document("calibration", calibration_document(calibration));
}

TEST(Golden, Workloads) {
  expect_golden("workloads.json", graph_json(resnet20()));
  expect_document("workloads",
                  workloads_document({{{"textcnn", "a text CNN"}, {"FILE.json", "your own"}},
                                      {{"linear", "inputs, outputs"}, {"relu", "-"}}}));
  expect_document("network",
                  network_document({"small", "1x3x8x8", {{"conv1", "Convolution2D", "1x4x8x8"}}}));
}

// What a program with regions writes itself.
TEST(Golden, LibraryRegions) {
  RegionReport report;
  report.events = {made_count("task-clock", 0, ""), made_count("flops", 0, "no PMU here")};
  report.events[0].unit = "ns";
  report.events[0].event = "software/task-clock";
  report.events[0].source = "kernel";
  report.events[0].shown_as = "task-clock";
  report.events[0].status = CountStatus::kOk;
  RegionCount counted, absent;
  counted.total = 990;
  counted.self = 495.5;
  counted.status = CountStatus::kScaled;
  absent.reason = "no PMU here";
  const RawRegionCount raw{1000, 500, 0.75};
  RegionRow row;
  row.name = "conv1d";
  row.type = "Conv1d";
  row.shape = "k=2";
  row.depth = 1;
  row.path = {"forward", "conv1d"};
  row.threads = 2;
  row.calls = 40;
  row.nested = 1;
  row.open = 2;
  row.unfinished = 3;
  row.counted_calls = 39;
  row.raw_total_ns = 4e8;
  row.total_ns = 3.9e8;
  row.raw_self_ns = 3e8;
  row.self_ns = 2.9e8;
  row.flops = 1e9;
  row.bytes = 1e6;
  row.gflops = 2.5;
  row.gbytes_per_s = 0.0025;
  row.memory = RegionMemory{4096, 8192, 16384};
  row.counts = {counted, absent};
  row.raw = {raw, {}};
  RegionRow plain;
  plain.name = "forward";
  plain.path = {"forward"};
  plain.counts = {absent, absent};
  plain.raw.resize(2);
  report.rows = {plain, row};
  report.totals.threads = 2;
  report.totals.ended_inside = 1;
  report.totals.without_counters = 1;
  report.totals.in_user_space = 1;
  report.totals.no_counters_because = "too many open files";
  report.totals.left_by_outer = 1;
  report.totals.not_open = 2;
  report.totals.dropped = 3;
  report.totals.backwards = 4;
  report.totals.no_counter_because = "the kernel's own clock is hpet";
  report.cost.inside_ns = 20;
  report.cost.outside_ns = 40.5;
  report.event_costs = {raw, {}};
  report.memory_reason = "nobody watches it";
  report.notes = {"1 region was left by an outer one."};
  const std::regex own("(\"hwprof\": )\"[^\"]*\"(,\n  \"pid\": )[0-9]+");
  expect_golden("regions.json",
                std::regex_replace(regions_as_json(report), own, "$1\"0.1.0\"$021"));
}

TEST(Headline, PromisesAFactorOnlyWhereItIsSure) {
  Profile profile = sample_profile();
  EXPECT_THAT(headline(profile).text, testing::HasSubstr("1.9 times faster is possible"));
  profile.blas.verdict = VerdictKind::kBorderline;
  EXPECT_THAT(headline(profile).text, testing::StartsWith("BLAS BORDERLINE: OPENBLAS_CORETYPE"));
  profile.blas.verdict = VerdictKind::kWrongResults;
  profile.blas.why = "sgemm of openblas 0.3.21 SkylakeX, m=17 n=16 k=15";
  EXPECT_THAT(headline(profile).text, testing::HasSubstr("WRONG RESULTS:"));
}

}  // namespace
}  // namespace hwprof::report
