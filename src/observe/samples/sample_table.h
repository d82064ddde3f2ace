// Samples added up as they come, by instruction and by stack, so that memory grows with the code
// that ran and not with the time; named and judged once, at the end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/observe/python/line_stacks.h"
#include "src/observe/python/merged_stack.h"
#include "src/observe/samples/images.h"
#include "src/observe/samples/sampling.h"
#include "src/observe/samples/stack_table.h"
#include "src/observe/samples/thread_samples.h"
#include "src/observe/unwind/unwound.h"

namespace hwprof::observe {

class SampleTable {
 public:
  // In the order of time.
  void add(CodePlace hit, int tid, std::uint64_t time_ns, std::uint64_t period_ns);
  // How far a stack was followed that was unwound, and where its last frame is.
  void add_end(const UnwoundStack& stack, CodePlace last);

  SampleProfile resolve(const SamplingOptions& options);
  // As line_profile.h has it; after resolve().
  std::string what_ran(CodePlace place);
  // What a frame is called: its symbol, or "[libfoo.so]".
  std::string frame_name(CodePlace place);
  // As merged_stack() has it, of sampled places.
  std::vector<MergedFrame> merged(std::span<const CodePlace> places,
                                  std::span<const StackedLine> python);
  // Names the stacks of the samples that `tallied` has; after resolve().
  void add_stacks(const LineProfile& tallied, const LineStacks& python, SampleProfile& profile);

  Images images;
  StackTable stacks;
  ThreadTable threads;

 private:
  struct Hits {
    std::uint64_t samples = 0;
    std::uint64_t beside = 0;  // as in HotSpot
    std::set<int> threads;
  };
  struct Recent {
    std::uint64_t time_ns;
    int tid;
    std::uint32_t image;
  };

  void add_spots(SampleProfile& profile, bool lines);
  void add_ends(SampleProfile& profile);
  const std::string& symbol(CodePlace place);
  // Nothing is known of it once judging has taken too long.
  LoopJudgement judge(CodePlace place);
  FrameKind kind(CodePlace place);

  std::map<CodePlace, Hits> hits_;
  std::deque<Recent> recent_;  // of the last period
  std::map<CodePlace, std::string> symbols_;
  std::map<CodePlace, LoopJudgement> judged_;
  double judging_ends_ns_ = 0;  // of this thread's CPU time
  std::uint64_t samples_ = 0;
  std::uint64_t unwound_ = 0, whole_ = 0, guessed_ = 0, too_deep_ = 0;
  std::map<std::uint32_t, std::uint64_t>
      ends_in_;  // by image: stacks without a caller that is known
};

}  // namespace hwprof::observe
