// Looks at the machine code of the register block: the whole speed of the hand-written kernels
// hangs on the sums staying in registers, which no compiler promises and no result shows.
// Disassembles this program, which holds the kernels' library.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "kernels/ops/conv1d.h"
#include "kernels/thread_team.h"

namespace hwprof {
namespace {

struct Instruction {
  std::uint64_t address;
  std::string text;  // mnemonic and operands, in AT&T syntax on x86-64
};

// Instructions of the functions whose demangled name holds `part`, function by function.
std::vector<std::vector<Instruction>> disassemble(const std::string& part) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "objdump -d -C --no-show-raw-insn '" + program + "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::vector<std::vector<Instruction>> functions;
  bool inside = false;
  char* line = nullptr;
  std::size_t capacity = 0;
  while (pipe != nullptr && ::getline(&line, &capacity, pipe.get()) > 0) {
    const std::string text(line);
    if (text.find(">:\n") != std::string::npos) {
      inside = text.find(part) != std::string::npos;
      if (inside) functions.emplace_back();
    } else if (inside && text.find(":\t") != std::string::npos) {
      functions.back().push_back(
          {std::stoull(text, nullptr, 16), text.substr(text.find(":\t") + 2)});
    }
  }
  std::free(line);
  return functions;
}

struct Loop {
  std::size_t fma = 0, instructions = 0;
  std::size_t spills = 0;  // vector registers from or to the stack, or stored at all
};

// Loops without another branch inside.
std::vector<Loop> innermost_loops(const std::vector<Instruction>& code) {
  static const std::regex branch("^(j[a-z]+|b\\.[a-z]+|cbn?z|tbn?z)\\s.*?([0-9a-f]+) <.*");
  static const std::regex fma("^(vfn?madd|fmla).*");
  static const std::regex spill(
      "^(.*%[xyz]mm.*\\(%rsp.*|.*\\(%rsp.*%[xyz]mm.*|vmov[a-z0-9]+\\s+%[xyz]mm[0-9]+,.*\\).*"
      "|(st[rpu]+|ldr|ldp)\\s+[qv][0-9]+,.*\\[sp.*|st[rpu]+\\s+[qv][0-9]+,.*)\n?$");
  std::vector<Loop> loops;
  std::size_t after_branch = 0;  // no loop may begin before the last branch
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(code[i].text, match, branch)) continue;
    const std::uint64_t target = std::stoull(match[2], nullptr, 16);
    std::size_t begin = after_branch;
    while (begin < i && code[begin].address != target) ++begin;
    if (begin < i) {
      Loop loop;
      for (std::size_t at = begin; at <= i; ++at) {
        loop.fma += std::regex_search(code[at].text, fma) ? 1 : 0;
        loop.spills += std::regex_search(code[at].text, spill) ? 1 : 0;
        ++loop.instructions;
      }
      loops.push_back(loop);
    }
    after_branch = i + 1;
  }
  return loops;
}

struct Block {
  std::int64_t target;
  const char* space;  // Highway's namespace of the target
  std::size_t rows, vectors;
};

class HotLoop : public testing::TestWithParam<Block> {};

TEST_P(HotLoop, KeepsAllSumsInRegisters) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "built without optimisation, or with a sanitizer";
#endif
  if (std::system("objdump --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "needs objdump (apt install binutils)";
  }
  const Block& block = GetParam();
  const std::string name = std::string(block.space) + "::block<true, " +
                           std::to_string(block.rows) + "ul, " + std::to_string(block.vectors) +
                           "ul, 1ul>";
  std::size_t found = 0;
  for (const std::vector<Instruction>& function : disassemble(name)) {
    for (const Loop& loop : innermost_loops(function)) {
      EXPECT_EQ(loop.spills, 0U) << name << ": a loop of " << loop.fma << " FMA";
      if (loop.fma != block.rows * block.vectors) continue;
      ++found;
      // A broadcast a row, the weights, two prefetches, pointers and the branch.
      EXPECT_LE(loop.instructions, loop.fma + block.rows + block.vectors + 16) << name;
    }
  }
  EXPECT_GE(found, 1U) << "no loop of " << block.rows << " x " << block.vectors << " FMA in "
                       << name;
}

const Block kBlocks[] = {
#if defined(__x86_64__)
    {HWY_AVX3, "N_AVX3", 13, 2},
    {HWY_AVX3, "N_AVX3", 16, 1},
    {HWY_AVX2, "N_AVX2", 6, 2},
    {HWY_AVX2, "N_AVX2", 12, 1},
#elif defined(__aarch64__)
    {HWY_NEON, "N_NEON", 12, 2},
    {HWY_NEON, "N_NEON", 16, 1},
#endif
};

INSTANTIATE_TEST_SUITE_P(EveryTarget, HotLoop, testing::ValuesIn(kBlocks), [](const auto& info) {
  return std::string(info.param.space) + "_" + std::to_string(info.param.rows) + "x" +
         std::to_string(info.param.vectors);
});

// Without a call the linker would leave the kernel out of this program.
TEST(HotLoopProgram, HoldsTheKernel) {
  ThreadTeam team(1, {});
  const std::size_t row_start[] = {0, 1};
  const float one = 1;
  const Conv1dShape shape{1, 1, 1};
  std::vector<float> packed(conv1d_simd_packed_floats(shape));
  conv1d_simd_pack(shape, &one, packed.data());
  float g = 0;
  conv1d_maxpool_fused({.input = {.shape = shape,
                                  .row_start = row_start,
                                  .x = &one,
                                  .w = &one,
                                  .packed = packed.data(),
                                  .bias = &one,
                                  .team = &team},
                        .g = &g,
                        .g_stride = 1});
  EXPECT_EQ(g, 2);
}

}  // namespace
}  // namespace hwprof
