// Samples by thread, and with them who waits: a wait may lie in the C library or in a helper of a
// run-time system of threads, and then the loop that called it says whose it is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/observe/samples/images.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::observe {

class ThreadTable {
 public:
  // `returns_to`: what a function without a frame of its own returns to; of no image: not known.
  void add(CodePlace hit, CodePlace returns_to, int tid);
  // The function that the thread was started with.
  void begins_at(int tid, CodePlace start) { starts_[tid] = start; }

  using Judge = std::function<LoopJudgement(CodePlace)>;
  std::vector<ThreadSamples> resolve(Images& images, const Judge& judge);

 private:
  struct Waiting {
    bool is = false;
    bool in_yield = false;
    CodePlace site;
  };
  static Waiting waiting(Images& images, const Judge& judge, CodePlace place, CodePlace returns_to);
  bool is_idle(Images& images, int tid, CodePlace site);

  std::map<std::tuple<CodePlace, CodePlace, int>, std::uint64_t> samples_;
  std::map<int, std::uint64_t> beyond_;  // that found no room, by thread
  std::map<int, CodePlace> starts_;
  std::map<CodePlace, std::optional<std::uint64_t>> functions_;  // where they begin
};

}  // namespace hwprof::observe
