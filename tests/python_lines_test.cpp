// Layouts, line tables and frames of CPython: held against what the interpreters of this machine
// say of themselves, and against memory that is made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "src/observe/audit/python_chain.h"
#include "src/observe/python/code_objects.h"
#include "src/observe/python/frames.h"
#include "src/observe/python/layout.h"
#include "src/observe/python/line_table.h"
#include "src/observe/python/sampled_frames.h"

namespace hwprof::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// Memory of a process that is made up of words at addresses.
class MadeMemory {
 public:
  void put(std::uint64_t address, std::uint64_t word) { put(address, &word, sizeof word); }
  void put(std::uint64_t address, const void* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      bytes_[address + i] = static_cast<const std::byte*>(from)[i];
  }
  void reserve(std::uint64_t address, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes_.try_emplace(address + i);
  }
  ReadMemory reader() {
    return [this](std::uint64_t address, std::span<std::byte> to) {
      ++reads;
      if (on_read) on_read(address);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const auto byte = bytes_.find(address + i);
        if (byte == bytes_.end()) return false;
        to[i] = byte->second;
      }
      return true;
    };
  }
  std::size_t reads = 0;
  std::function<void(std::uint64_t address)> on_read;

 private:
  std::map<std::uint64_t, std::byte> bytes_;
};

constexpr std::uint32_t k311 = 0x030b02f0;
constexpr std::uint64_t kRuntime = 0x10000, kInterpreter = 0x20000, kState = 0x30000,
                        kRecord = 0x40000, kFrame = 0x50000, kOuter = 0x51000, kCode = 0x60000,
                        kCodeType = 0x70000, kFile = 0x80000, kName = 0x81000, kTable = 0x82000;

void put_text(MadeMemory& memory, std::uint64_t at, const std::string& text) {
  memory.reserve(at, 48 + text.size());
  memory.put(at + 16, text.size());
  memory.put(at + 32,
             (1U << 2U) | (1U << 5U) | (1U << 6U));  // one byte a character, compact, ASCII
  memory.put(at + 48, text.data(), text.size());
}

// A thread that runs `f` of x.py in line 11, called in line 10.
MadeMemory python_memory() {
  MadeMemory memory;
  memory.put(kRuntime + 40, kInterpreter);
  memory.put(kInterpreter, 0);
  memory.put(kInterpreter + 16, kState);
  memory.reserve(kState, kThreadBytes);
  memory.put(kState + 8, 0);
  memory.put(kState + 160, 4711);
  memory.put(kState + 56, kRecord);
  memory.put(kRecord + 8, kFrame);
  memory.reserve(kFrame, kFrameBytes);
  memory.put(kFrame + 32, kCode);
  memory.put(kFrame + 48, kOuter);
  memory.put(kFrame + 56, kCode + 184 + 4);
  memory.reserve(kOuter, kFrameBytes);
  memory.put(kOuter + 32, kCode);
  memory.put(kOuter + 48, 0);
  memory.put(kOuter + 56, kCode + 184);
  memory.reserve(kCode, kCodeBytes);
  memory.put(kCode + 8, kCodeType);
  memory.put(kCode + 16, 4);
  const std::int32_t first = 10;
  memory.put(kCode + 72, &first, sizeof first);
  memory.put(kCode + 112, kFile);
  memory.put(kCode + 128, kName);
  memory.put(kCode + 136, kTable);
  put_text(memory, kFile, "x.py");
  put_text(memory, kName, "f");
  // Two units of line 10, two of line 11.
  const unsigned char table[] = {0x80 | (13 << 3) | 1, 0, 0x80 | (13 << 3) | 1, 2};
  memory.reserve(kTable, 32);
  memory.put(kTable + 16, sizeof table);
  memory.put(kTable + 32, table, sizeof table);
  return memory;
}

std::vector<std::string> lines_of(const PythonStack& stack) {
  std::vector<std::string> lines;
  for (const PythonFrame& frame : stack.frames)
    lines.push_back(frame.code->file + ":" + std::to_string(frame.line) + " " +
                    frame.code->function);
  return lines;
}

PythonFrames made_frames() { return {*python_layout(k311, {}), kRuntime, kCodeType}; }

TEST(PythonFrames, AreReadInnermostFirst) {
  MadeMemory memory = python_memory();
  PythonFrames frames = made_frames();
  const PythonStack stack = frames.read(memory.reader(), 4711, 4711, 1);
  EXPECT_EQ(stack.state, PythonStack::State::kRead);
  EXPECT_THAT(lines_of(stack), ElementsAre("x.py:11 f", "x.py:10 f"));
}

TEST(PythonFrames, TellWhichCCalled) {
  MadeMemory memory = python_memory();
  const unsigned char yes = 1;
  memory.put(kOuter + 68, &yes, sizeof yes);
  PythonFrames frames = made_frames();
  const PythonStack stack = frames.read(memory.reader(), 4711, 4711, 1);
  ASSERT_THAT(stack.frames, SizeIs(2));
  EXPECT_FALSE(stack.frames[0].from_c);
  EXPECT_TRUE(stack.frames[1].from_c);
}

TEST(PythonFrames, GiveNothingOfAThreadThatGoesOnAllTheTime) {
  MadeMemory memory = python_memory();
  PythonFrames frames = made_frames();
  bool inner = true;
  memory.on_read = [&](std::uint64_t address) {
    if (address == kOuter) memory.put(kRecord + 8, std::exchange(inner, !inner) ? kOuter : kFrame);
  };
  EXPECT_EQ(frames.read(memory.reader(), 4711, 4711, 1).state, PythonStack::State::kMoved);
}

TEST(PythonFrames, KnowNoThreadThatTheInterpreterDoesNot) {
  MadeMemory memory = python_memory();
  PythonFrames frames = made_frames();
  EXPECT_EQ(frames.read(memory.reader(), 4711, 4712, 1).state, PythonStack::State::kNoThread);
}

TEST(PythonFrames, EndWhereTheyPointAtThemselves) {
  MadeMemory memory = python_memory();
  memory.put(kOuter + 48, kFrame);
  PythonFrames frames = made_frames();
  const PythonStack stack = frames.read(memory.reader(), 4711, 4711, 1);
  EXPECT_LE(stack.frames.size(), 512U);
  EXPECT_LT(memory.reads, 5000U);
}

TEST(PythonFrames, EndWhereThreadsPointAtThemselves) {
  MadeMemory memory = python_memory();
  memory.put(kState + 8, kState);
  memory.put(kInterpreter, kInterpreter);
  PythonFrames frames = made_frames();
  EXPECT_EQ(frames.read(memory.reader(), 4711, 9, 1).state, PythonStack::State::kNoThread);
  EXPECT_LT(memory.reads, 200U);
}

TEST(PythonFrames, GiveNothingOfCodeThatIsNone) {
  MadeMemory memory = python_memory();
  memory.put(kCode + 8, kCodeType + 8);
  PythonFrames frames = made_frames();
  const PythonStack stack = frames.read(memory.reader(), 4711, 4711, 1);
  EXPECT_EQ(stack.state, PythonStack::State::kMoved);
  EXPECT_THAT(stack.frames, IsEmpty());
}

TEST(PythonFrames, GiveNothingWhereTheInstructionIsOfOtherCode) {
  MadeMemory memory = python_memory();
  memory.put(kFrame + 56, kCode + 184 + 8);
  PythonFrames frames = made_frames();
  EXPECT_EQ(frames.read(memory.reader(), 4711, 4711, 1).state, PythonStack::State::kMoved);
}

TEST(CodeObjects, AreLookedAtAgain) {
  MadeMemory memory = python_memory();
  CodeObjects codes(*python_layout(k311, {}), kCodeType);
  ASSERT_NE(codes.find(memory.reader(), kCode, 1), nullptr);
  put_text(memory, kName + 0x100, "g");
  memory.put(kCode + 128, kName + 0x100);
  EXPECT_EQ(codes.find(memory.reader(), kCode, 100'000'000)->function, "g");
}

TEST(CodeObjects, RefuseSizesThatCannotBe) {
  for (const std::uint64_t place : {kTable + 16, kFile + 16, kCode + 16}) {
    MadeMemory memory = python_memory();
    memory.put(place, ~std::uint64_t{0} >> 1U);
    CodeObjects codes(*python_layout(k311, {}), kCodeType);
    EXPECT_EQ(codes.find(memory.reader(), kCode, 1), nullptr) << place;
  }
}

TEST(PythonText, IsUtf8WithoutWhatControlsATerminal) {
  MadeMemory memory;
  const PythonLayout layout = *python_layout(k311, {});
  memory.reserve(kFile, 100);
  memory.put(kFile + 16, 3);
  memory.put(kFile + 32, (2U << 2U) | (1U << 5U));  // two bytes a character
  const std::uint16_t characters[] = {0x1b, 0xe9, 0x20ac};
  memory.put(kFile + 72, characters, sizeof characters);
  EXPECT_EQ(python_text(memory.reader(), layout, kFile), "?\xc3\xa9\xe2\x82\xac");
}

TEST(LineTable, FollowsLinesDownAndUp) {
  const auto table = bytes_of({0x80 | (10 << 3), 0, 0, 0x80 | (13 << 3) | 1, 4, 0x80 | (15 << 3),
                               0x80 | (14 << 3), 3, 0, 0, 0, 0x80 | (2 << 3), 0x55});
  EXPECT_EQ(line_at(7, table, 0), 7);
  EXPECT_EQ(line_at(7, table, 1), 9);
  EXPECT_EQ(line_at(7, table, 2), 9);
  EXPECT_EQ(line_at(7, table, 3), std::nullopt);
  EXPECT_EQ(line_at(7, table, 4), 8);
  EXPECT_EQ(line_at(7, table, 5), 8);
  EXPECT_EQ(line_at(7, table, 6), std::nullopt);
}

TEST(LineTable, EndsWithItsBytes) {
  std::vector<std::byte> table(10000, std::byte{0xff});
  EXPECT_EQ(line_at(1, table, 1U << 20U), std::nullopt);
  EXPECT_EQ(line_at(1, bytes_of({0xf7, 0x7f, 0x7f, 0x7f}), 50), std::nullopt);
}

TEST(PythonLayout, IsThatOfTheVersion) {
  EXPECT_EQ(python_layout(k311, {})->instructions, 184U);
  EXPECT_EQ(python_layout(0x030c01f0, {})->instructions, 192U);
  EXPECT_FALSE(python_layout(0x030a0df0, {}));
  EXPECT_FALSE(python_layout(0x030e00f0, {}));
  // 3.13 says it itself, or nothing is known.
  EXPECT_FALSE(python_layout(0x030d00f0, {}));
  EXPECT_EQ(python_version_text(k311), "3.11.2");
}

TEST(PythonLayout, OfFreeThreadedPythonIsNotKnown) {
  std::vector<std::byte> told(kDebugOffsetsBytes);
  std::memcpy(told.data(), "xdebugpy", 8);
  EXPECT_TRUE(python_layout(0x030d00f0, told));
  told[16] = std::byte{1};
  EXPECT_FALSE(python_layout(0x030d00f0, told));
}

// The audit library has so much of it as it needs.
TEST(PythonLayout, IsThatOfTheAuditLibrary) {
  std::vector<std::uint64_t> told(kDebugOffsetsBytes / 8);
  std::memcpy(told.data(), "xdebugpy", 8);
  for (std::size_t i = 3; i < told.size(); ++i) told[i] = 8 * i;
  told[33] = 70;  // of the owner: a byte
  for (const std::uint32_t version : {k311, 0x030c01f0U, 0x030d00f0U}) {
    const PythonLayout layout = *python_layout(version, std::as_bytes(std::span(told)));
    const audit::PythonChain chain = audit::python_chain(version, told.data());
    EXPECT_TRUE(chain.known);
    EXPECT_EQ(chain.frame, layout.frame);
    EXPECT_EQ(chain.frame_in_record, layout.frame_in_record.has_value());
    EXPECT_EQ(chain.in_record, layout.frame_in_record.value_or(0));
    EXPECT_EQ(chain.code, layout.code);
    EXPECT_EQ(chain.previous, layout.previous);
    EXPECT_EQ(chain.instruction, layout.instruction);
    EXPECT_EQ(chain.is_entry, layout.is_entry.has_value());
    EXPECT_EQ(chain.flags + chain.byte, layout.is_entry.value_or(layout.owner));
    EXPECT_TRUE(chain.is_entry || layout.entry_owner == audit::PythonChain::kEntryOwner);
  }
  told[2] = 1;  // free-threaded
  EXPECT_FALSE(audit::python_chain(0x030d00f0, told.data()).known);
  told[2] = 0;
  told[33] = 1U << 20U;
  EXPECT_FALSE(audit::python_chain(0x030d00f0, told.data()).known);
  EXPECT_FALSE(audit::python_chain(0x030a0df0, told.data()).known);
  EXPECT_FALSE(audit::python_chain(0x030e00f0, told.data()).known);
}

// Every instruction of many code objects, against co_lines() of the interpreter itself.
std::string run(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    if (got == 0) break;
    text.append(buffer.data(), got);
  }
  if (pipe != nullptr) ::pclose(pipe);
  return text;
}

class LineTableOf : public ::testing::TestWithParam<const char*> {};

TEST_P(LineTableOf, LivePython) {
  const std::string text = run(std::string(GetParam()) + R"( -c "
import json, sys, textwrap, ast
if sys.version_info < (3, 11): sys.exit()
codes, todo = [], []
for m in (textwrap, ast):
    with open(m.__file__) as f: todo.append(compile(f.read(), m.__file__, 'exec'))
while todo:
    c = todo.pop()
    todo += [k for k in c.co_consts if hasattr(k, 'co_code')]
    lines = [None] * (len(c.co_code) // 2)
    for begin, end, line in c.co_lines():
        for i in range(begin // 2, end // 2): lines[i] = line
    codes.append([c.co_firstlineno, list(c.co_linetable), lines])
print(json.dumps(codes))
" 2>/dev/null)");
  if (text.empty()) GTEST_SKIP() << "there is no " << GetParam() << " from 3.11 on";
  std::size_t units = 0;
  for (const auto& code : nlohmann::json::parse(text)) {
    std::vector<std::byte> table;
    for (const unsigned byte : code[1]) table.push_back(static_cast<std::byte>(byte));
    for (std::size_t unit = 0; unit < code[2].size(); ++unit, ++units) {
      const auto line = line_at(code[0].get<int>(), table, unit);
      if (code[2][unit].is_null()) {
        ASSERT_FALSE(line);
      } else {
        ASSERT_EQ(line, code[2][unit].get<int>());
      }
    }
  }
  EXPECT_GT(units, 5000U);
}

INSTANTIATE_TEST_SUITE_P(Pythons, LineTableOf,
                         ::testing::Values("python3", "/usr/bin/python3", "python3.11",
                                           "python3.12", "python3.13"));

// Code of two units a line, from line 10 on, and frames that stand in it.
std::shared_ptr<const PythonCode> made_code(const char* function, std::uint64_t begin) {
  auto code = std::make_shared<PythonCode>();
  code->file = "x.py";
  code->function = function;
  code->first_line = 10;
  code->begin = begin;
  code->units = 8;
  for (int line = 0; line < 4; ++line)
    for (const unsigned byte : {0x80U | (13U << 3U) | 1U, line == 0 ? 0U : 2U})
      code->line_table.push_back(static_cast<std::byte>(byte));
  return code;
}

PythonFrame standing(const std::shared_ptr<const PythonCode>& code, std::uint64_t unit) {
  const std::uint64_t instruction = code->begin + 2 * unit;
  return {code, *code->line(instruction), instruction};
}

class SampledFrames : public ::testing::Test, public StackMemory {
 protected:
  bool word(std::uint64_t address, std::uint64_t& value) override {
    value = slot_;
    return address == 0x7000;
  }
  bool read(std::uint64_t /*address*/, std::span<std::byte> /*to*/) override { return false; }

  // Of a sample below the interpreter's function, which had `next` in one of its registers.
  std::vector<std::string> lines(std::uint64_t next, const std::vector<PythonFrame>& living) {
    UnwoundStack stack;
    stack.frames.resize(2);
    stack.frames[0].pc = 0x900;
    stack.frames[1].pc = 0x1500;
    stack.frames[1].cfa = 0x7008;
    stack.frames[1].registers.set(kCalleeSaved.back(), next);
    stack.frames[1].registers.set(kStackPointer, 0x7000);
    PythonInterpreter interpreter;
    interpreter.eval_begin = 0x1000;
    interpreter.eval_end = 0x2000;
    const auto frames = sampled_frames(
        interpreter, stack, *this, living,
        [&](std::uint64_t address) { return other_->line(address) ? other_ : nullptr; });
    PythonStack found;
    if (frames) found.frames = *frames;
    return frames ? lines_of(found) : std::vector<std::string>{"not told"};
  }

  std::shared_ptr<const PythonCode> f_ = made_code("f", 0x4000), g_ = made_code("g", 0x5000),
                                    other_ = made_code("other", 0x6000);
  std::uint64_t slot_ = 0;
};

TEST_F(SampledFrames, AreThoseThatLiveWhereTheyStandAtTheInstruction) {
  EXPECT_THAT(lines(g_->begin + 2 * 3, {standing(g_, 2), standing(f_, 0)}),
              ElementsAre("x.py:11 g", "x.py:10 f"));
}

TEST_F(SampledFrames, LeaveOutWhatHasBeenCalledSince) {
  EXPECT_THAT(lines(f_->begin + 2 * 5, {standing(g_, 2), standing(f_, 4)}),
              ElementsAre("x.py:12 f"));
}

TEST_F(SampledFrames, HaveTheLineOfTheRegisterWhereTheFunctionWentOn) {
  EXPECT_THAT(lines(g_->begin + 2 * 1, {standing(g_, 7), standing(f_, 0)}),
              ElementsAre("x.py:10 g", "x.py:10 f"));
}

TEST_F(SampledFrames, AreOneWhereTheFunctionHasReturned) {
  EXPECT_THAT(lines(other_->begin + 2 * 7, {standing(f_, 0)}), ElementsAre("x.py:13 other"));
}

TEST_F(SampledFrames, AreNotToldByPointersToElsewhere) {
  EXPECT_THAT(lines(0x123456, {standing(f_, 0)}), ElementsAre("not told"));
  // The begin of the code is no instruction that comes next.
  EXPECT_THAT(lines(f_->begin, {standing(f_, 0)}), ElementsAre("not told"));
}

TEST_F(SampledFrames, AreFoundByARegisterThatWasPutAside) {
  slot_ = f_->begin + 2;
  EXPECT_THAT(lines(0, {standing(f_, 0)}), ElementsAre("x.py:10 f"));
}

}  // namespace
}  // namespace hwprof::observe
