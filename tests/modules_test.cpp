// The tables of a framework's modules: what is added up, what is a module's own, what is missing.
#include "src/measure/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "src/blas/evidence/module_evidence.h"

namespace hwprof {
namespace {

using report::Module;
using report::Region;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Region region(std::vector<std::string> path, std::string type, std::string shape,
              std::uint64_t calls, double total_ns, double self_ns, double flops, double bytes) {
  Region row;
  row.path = std::move(path);
  row.name = row.path.back();
  row.depth = row.path.size() - 1;
  row.type = std::move(type);
  row.shape = std::move(shape);
  row.calls = calls;
  row.total_ns = total_ns;
  row.self_ns = self_ns;
  row.flops = flops;
  row.bytes = bytes;
  return row;
}

observe::CallsOfModule calls_of(std::uint32_t process, std::uint32_t module, std::uint64_t count,
                                double time_ns, double flops) {
  observe::CallsOfModule calls{.process = process, .module = module, .site = {}};
  calls.site.symbol = "sgemm_";
  calls.site.library = "/lib/blas.so";
  calls.site.count = count;
  calls.site.time_ns = time_ns;
  calls.site.flops = flops;
  calls.site.shapes = {{.m = 1, .n = 2, .k = 3, .count = count, .time_ns = time_ns}};
  return calls;
}

// Two processes, whose numbers of modules are not the same; a region of the program's own around.
ModuleFacts made_facts() {
  ModuleFacts facts;
  facts.regions.rows = {
      region({"epoch"}, "", "", 1, 1000, 100, 0, 0),
      region({"epoch", "Net"}, "Net", "4x8", 5, 900, 200, 600, 70),
      region({"epoch", "Net", "fc"}, "Linear", "4x8", 3, 400, 400, 400, 40),
      region({"epoch", "Net", "fc"}, "Linear", "2x8", 2, 300, 300, 200, 30),
  };
  facts.processes = {{.pid = 10,
                      .torch = "1.13",
                      .modules = {{1, {"Net", "Net"}}, {2, {"fc", "Linear"}}},
                      .onednn = "avx2",
                      .problems = {},
                      .ended = true,
                      .hooks = 10,
                      .hook_ns = 20},
                     {.pid = 11,
                      .torch = "1.13",
                      .modules = {{1, {"fc", "Linear"}}},
                      .onednn = "",
                      .problems = {},
                      .ended = true,
                      .hooks = 5,
                      .hook_ns = 30}};
  facts.calls = {calls_of(10, 2, 3, 100, 50), calls_of(11, 1, 1, 60, 30), calls_of(12, 1, 9, 1, 1),
                 calls_of(10, 7, 9, 1, 1)};
  facts.wall_ns = 2000;
  return facts;
}

std::vector<std::string> names_of(const std::vector<Module>& modules) {
  std::vector<std::string> names;
  for (const Module& module : modules) names.push_back(module.name);
  return names;
}

TEST(Modules, AddUpByNameAndByTypeWithoutTheProgramsOwnRegions) {
  const ModuleTables tables = module_tables(made_facts());
  ASSERT_THAT(names_of(tables.by_name), ElementsAre("fc", "Net"));
  const Module& linear = tables.by_name.front();
  EXPECT_EQ(linear.occurrence, 5U);
  EXPECT_EQ(linear.total_ns, 700);
  EXPECT_EQ(linear.total_share, 0.35);
  EXPECT_EQ(linear.self_share, 0.35);
  EXPECT_EQ(linear.shape, "");
  EXPECT_EQ(linear.flops, 600);
  EXPECT_DOUBLE_EQ(linear.gflops.value_or(0), 600. / 700);
  ASSERT_THAT(names_of(tables.by_type), ElementsAre("Linear", "Net"));
  EXPECT_EQ(tables.by_type.front().occurrence, 5U);
}

TEST(Modules, WhoseOwnWorkNobodyDeclaredHaveNoFlop) {
  const ModuleTables tables = module_tables(made_facts());
  const Module& whole = tables.by_name.back();
  EXPECT_FALSE(whole.flops);
  EXPECT_FALSE(whole.gflops);
  EXPECT_NE(whole.flops_reason, "");
  EXPECT_EQ(whole.self_ns, 200);
  EXPECT_EQ(whole.total_ns, 900);
}

TEST(Modules, CallsGoToTheModuleOfTheirProcess) {
  const ModuleTables tables = module_tables(made_facts());
  const Module& linear = tables.by_name.front();
  ASSERT_EQ(linear.calls.size(), 1U);
  EXPECT_EQ(linear.calls[0].calls, 4U);
  EXPECT_EQ(linear.calls[0].time_ns, 160);
  EXPECT_EQ(linear.calls[0].gflops, 0.5);
  ASSERT_EQ(linear.calls[0].shapes.size(), 1U);
  EXPECT_EQ(linear.calls[0].shapes[0].count, 4U);
  EXPECT_THAT(tables.by_name.back().calls, IsEmpty());
}

TEST(Modules, TheHooksCostIsThatOfAllProcessesOrNotKnown) {
  ModuleFacts facts = made_facts();
  const report::ModuleHooks hooks = module_tables(facts).hooks;
  EXPECT_EQ(hooks.hooks, 15U);
  EXPECT_EQ(hooks.cost_ns, 50);
  EXPECT_EQ(hooks.cost_share, 0.025);
  EXPECT_EQ(hooks.onednn, "avx2");
  EXPECT_THAT(hooks.notes, IsEmpty());
  facts.processes[1].ended = false;
  const report::ModuleHooks less = module_tables(facts).hooks;
  EXPECT_FALSE(less.cost_ns);
  EXPECT_THAT(less.notes, ElementsAre(HasSubstr("process 11 ended by os._exit")));
}

TEST(Modules, SayWhyThereAreNone) {
  EXPECT_THAT(module_tables({}).hooks.notes, ElementsAre(HasSubstr("no Python")));
  ModuleFacts facts;
  facts.processes.resize(1);
  EXPECT_THAT(module_tables(facts).hooks.notes, ElementsAre(HasSubstr("was not imported")));
  facts.processes[0].problems = {"torch was not imported: OSError"};
  EXPECT_THAT(module_tables(facts).hooks.notes, ElementsAre(HasSubstr("OSError")));
}

TEST(Modules, LinesOfAProcessAreReadAndOthersPassedOver) {
  const LayerProcess process = parse_layer_lines(
      "{\"python\": \"3.11\"}\n[1]\nnothing\n{\"torch\": \"2.0\"}\n"
      "{\"module\": 3, \"name\": \"fc\", \"type\": \"Linear\"}\n"
      "{\"module\": -3, \"name\": \"no\"}\n{\"module\": \"x\"}\n{\"problem\": \"what\"}\n"
      "{\"ended\": true, \"hooks\": 4, \"hook_ns\": 70, \"onednn\": null}\n{\"mod");
  EXPECT_EQ(process.torch, "2.0");
  EXPECT_EQ(process.modules.size(), 1U);
  EXPECT_EQ(process.modules.at(3).second, "Linear");
  EXPECT_THAT(process.problems, ElementsAre("what"));
  EXPECT_TRUE(process.ended);
  EXPECT_EQ(process.hooks, 4U);
  EXPECT_EQ(process.hook_ns, 70);
  EXPECT_EQ(process.onednn, "");
  EXPECT_FALSE(parse_layer_lines("").ended);
}

TEST(Modules, EvidenceNamesLibraryCoreThreadsAndShareOfThePeak) {
  ModuleTables tables = module_tables(made_facts());
  report::BlasEvidence evidence;
  report::ChosenCore core;
  core.path = "/lib/blas.so";
  core.provider = report::Provider::kOpenBlas;
  core.core = "Haswell";
  core.vector_class = report::VectorClass::kAvx2;
  core.threads = 4;
  evidence.chosen_cores = {core};
  evidence.achieved_rate.core_peak_gflops = 0.5;
  blas::add_module_evidence(evidence, 2, "", tables.by_name);
  const Module& linear = tables.by_name.front();
  // Of the two CPUs that its four threads could use.
  EXPECT_EQ(linear.calls[0].peak_fraction, 0.5);
  EXPECT_DOUBLE_EQ(linear.peak_fraction.value_or(0), 600. / 700);
  EXPECT_EQ(linear.evidence,
            "openblas Haswell (256-bit) on 4 threads, 22.9 % of its time, 50.0 % of peak");
  EXPECT_EQ(tables.by_name.back().evidence, "no BLAS call");
}

TEST(Modules, EvidenceNamesTheKernelOfAPrimitive) {
  ModuleFacts facts = made_facts();
  facts.calls.clear();
  const auto add = [&](const std::string& kind, const std::string& kernel, const std::string& type,
                       double time_ns, std::optional<double> flops) {
    observe::CallsOfModule& calls = facts.calls.emplace_back(calls_of(10, 2, 3, time_ns, 0));
    calls.site.symbol = kind;
    calls.site.library = "/lib/libdnnl.so.2";
    calls.site.flops = flops;
    calls.prepared.emplace();
    calls.prepared->implementation = kernel;
    calls.prepared->type = type;
  };
  add("convolution forward_training", "jit:avx512_core", "f32", 350, 700);
  add("convolution forward_training", "jit:avx512_core", "f32", 70, 140);
  add("reorder", "jit:uni", "f32", 140, std::nullopt);
  add("matmul", "brgemm:avx512_core_bf16", "bf16", 7, 7);
  ModuleTables tables = module_tables(facts);
  report::BlasEvidence evidence;
  report::LoadedLibrary loaded;
  loaded.path = "/lib/libdnnl.so.2";
  loaded.provider = report::Provider::kOneDnn;
  evidence.loaded = {loaded};
  evidence.achieved_rate.core_peak_gflops = 4;
  blas::add_module_evidence(evidence, 1, "avx512", tables.by_name);
  const Module& linear = tables.by_name.front();
  ASSERT_EQ(linear.calls.size(), 3U);
  EXPECT_EQ(linear.calls[0].kernel, "jit:avx512_core");
  EXPECT_EQ(linear.calls[0].calls, 6U);
  EXPECT_EQ(linear.evidence,
            "onednn jit:avx512_core, 60.0 % of its time, 50.0 % of peak; onednn reorder jit:uni, "
            "20.0 % of its time; 1 more");
  EXPECT_EQ(linear.calls[2].peak_fraction_reason, "no peak of this precision is measured");
  // Of how many threads it had, nobody knows.
  blas::add_module_evidence(evidence, 2, "avx512", tables.by_name);
  EXPECT_EQ(linear.calls[0].peak_fraction_reason, "how many threads its library had is not known");
}

TEST(Modules, EvidenceTellsTheTwoDirectionsOfABackwardPassApart) {
  std::vector<Module> modules(1);
  modules[0].total_ns = 100;
  for (const char* routine : {"convolution backward_weights", "convolution backward_data"}) {
    report::ModuleCall call;
    call.routine = routine;
    call.library = "/lib/libdnnl.so.2";
    call.kernel = "jit:avx512_core";
    call.time_ns = 40;
    call.gflops = 3;
    modules[0].calls.push_back(call);
  }
  report::BlasEvidence evidence;
  report::LoadedLibrary loaded;
  loaded.path = "/lib/libdnnl.so.2";
  loaded.provider = report::Provider::kOneDnn;
  evidence.loaded = {loaded};
  blas::add_module_evidence(evidence, 2, "avx512", modules);
  EXPECT_EQ(modules[0].evidence,
            "onednn jit:avx512_core backward_weights, 40.0 % of its time; onednn jit:avx512_core "
            "backward_data, 40.0 % of its time");
}

TEST(Modules, EvidenceTakesTheCoreOfTheOneLibraryBehindAnother) {
  report::BlasEvidence evidence;
  report::LoadedLibrary front;
  front.path = "/lib/blas.so";
  front.provider = report::Provider::kOpenBlas;
  evidence.loaded = {front};
  report::ChosenCore core;
  core.path = "/lib/openblasp.so";
  core.provider = report::Provider::kOpenBlas;
  core.core = "Haswell";
  evidence.chosen_cores = {core};
  ModuleTables tables = module_tables(made_facts());
  blas::add_module_evidence(evidence, 2, "", tables.by_name);
  EXPECT_EQ(tables.by_name.front().calls[0].core, "Haswell");
  evidence.chosen_cores = {core, core};
  evidence.chosen_cores[1].threads = 1;
  tables = module_tables(made_facts());
  blas::add_module_evidence(evidence, 2, "", tables.by_name);
  EXPECT_EQ(tables.by_name.front().calls[0].core, "");
}

TEST(Modules, EvidenceSaysWhyThereIsNoShareOfThePeak) {
  ModuleTables tables = module_tables(made_facts());
  report::BlasEvidence evidence;
  blas::add_module_evidence(evidence, 2, "", tables.by_name);
  EXPECT_EQ(tables.by_name.front().calls[0].peak_fraction_reason, "no peak was measured");
  evidence.achieved_rate.core_peak_gflops = 0.5;
  blas::add_module_evidence(evidence, 2, "", tables.by_name);
  EXPECT_EQ(tables.by_name.front().calls[0].peak_fraction_reason,
            "how many threads its library had is not known");
}

}  // namespace
}  // namespace hwprof
