// Stacks through Python, of made-up frames.
#include "src/observe/python/merged_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hwprof::observe {
namespace {

using ::testing::ElementsAre;

struct NativeFrame {
  std::string name;
  FrameKind kind = FrameKind::kOther;
};
struct PythonCall {
  std::string name;
  bool from_c = false;
};

const NativeFrame kStart{"__libc_start_main", FrameKind::kCLibrary},
    kMain{"Py_RunMain", FrameKind::kInterpreter},
    kEval{"_PyEval_EvalFrameDefault", FrameKind::kEvaluates},
    kSort{"list_sort", FrameKind::kInterpreter}, kCopy{"memcpy", FrameKind::kCLibrary},
    kExtension{"array_matmul"}, kProduct{"sgemm"};

// All outermost first, as one reads it.
std::vector<std::string> merged(std::vector<NativeFrame> native, std::vector<PythonCall> python) {
  std::reverse(native.begin(), native.end());
  std::reverse(python.begin(), python.end());
  std::vector<FrameKind> kinds;
  for (const NativeFrame& frame : native) kinds.push_back(frame.kind);
  std::vector<StackedLine> lines;
  for (const PythonCall& call : python) lines.push_back({0, call.from_c});
  std::vector<std::string> names;
  for (const MergedFrame& frame : merged_stack(kinds, lines))
    names.push_back(frame.python ? python[frame.index].name : native[frame.index].name);
  std::reverse(names.begin(), names.end());
  return names;
}

TEST(MergedStack, HasPythonInThePlaceOfTheInterpreter) {
  EXPECT_THAT(
      merged({kStart, kMain, kEval, kExtension, kProduct},
             {{"<module> (x.py:9)", true}, {"main (x.py:7)"}, {"train (x.py:3)"}}),
      ElementsAre("<module> (x.py:9)", "main (x.py:7)", "train (x.py:3)", "array_matmul", "sgemm"));
}

TEST(MergedStack, KeepsWhatAFunctionOfPythonCalls) {
  EXPECT_THAT(merged({kStart, kMain, kEval, kSort, kCopy}, {{"f (x.py:1)", true}}),
              ElementsAre("f (x.py:1)", "list_sort", "memcpy"));
}

TEST(MergedStack, PutsWhatCCalledUnderIt) {
  EXPECT_THAT(
      merged(
          {kMain, kEval, kExtension, kCopy, kEval, kSort, kEval},
          {{"f (x.py:1)", true}, {"g (x.py:2)"}, {"hook (x.py:3)", true}, {"key (x.py:4)", true}}),
      ElementsAre("f (x.py:1)", "g (x.py:2)", "array_matmul", "memcpy", "hook (x.py:3)",
                  "key (x.py:4)"));
}

TEST(MergedStack, KeepsTheProgramThatRunsAnInterpreterInItself) {
  EXPECT_THAT(merged({kStart, {"main"}, kMain, kEval}, {{"f (x.py:1)", true}}),
              ElementsAre("main", "f (x.py:1)"));
}

TEST(MergedStack, MatchesTheInnermostWhereCallersOfOneSideAreMissing) {
  // The stack was not followed to its end.
  EXPECT_THAT(
      merged({kEval, kProduct}, {{"f (x.py:1)", true}, {"g (x.py:2)", true}, {"h (x.py:3)"}}),
      ElementsAre("f (x.py:1)", "g (x.py:2)", "h (x.py:3)", "sgemm"));
  // The frames of Python were not.
  EXPECT_THAT(merged({kMain, kEval, kSort, kEval, kProduct}, {{"g (x.py:2)"}}),
              ElementsAre("_PyEval_EvalFrameDefault", "g (x.py:2)", "sgemm"));
}

TEST(MergedStack, PutsAWorkersStackUnderTheCallThatIsOpen) {
  EXPECT_THAT(merged({{"clone", FrameKind::kCLibrary}, kProduct},
                     {{"f (x.py:1)", true}, {"g (x.py:2)", true}}),
              ElementsAre("f (x.py:1)", "g (x.py:2)", "clone", "sgemm"));
}

TEST(MergedStack, IsTheNativeOneWithoutPython) {
  EXPECT_THAT(merged({kStart, kMain, kEval, kProduct}, {}),
              ElementsAre("__libc_start_main", "Py_RunMain", "_PyEval_EvalFrameDefault", "sgemm"));
}

}  // namespace
}  // namespace hwprof::observe
