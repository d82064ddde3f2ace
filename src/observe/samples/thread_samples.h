// Samples by thread, and with them who waits: a wait may lie in the C library or in a helper of a
// run-time system of threads, and then the loop that called it says whose it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/observe/samples/images.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::observe {

class ThreadTable {
 public:
  // Of more threads the later ones are one, numbered kLater: a program may start a hundred
  // processes a second for days. No more have a clock (src/observe/threads/thread_clocks.cpp).
  static constexpr std::size_t kMostThreads = 20'000;
  static constexpr int kLater = 0;

  // `returns_to`: what a function without a frame of its own returns to; of no image: not known.
  void add(CodePlace hit, CodePlace returns_to, int thread);
  // The function that the thread was started with.
  void begins_at(int tid, CodePlace start);

  using Judge = std::function<LoopJudgement(CodePlace)>;
  std::vector<ThreadSamples> resolve(Images& images, const Judge& judge);

 private:
  struct Waiting {
    bool is = false;
    bool in_yield = false;
    CodePlace site;
  };
  static Waiting waiting(Images& images, const Judge& judge, CodePlace hit, CodePlace returns_to);
  bool is_idle(Images& images, int tid, CodePlace site);
  // `tid`, or kLater where there are as many as there is room for.
  int entered(int tid);

  std::set<int> threads_;
  std::map<std::tuple<CodePlace, CodePlace, int>, std::uint64_t> samples_;
  std::map<int, std::uint64_t> beyond_;  // that found no room, by thread
  std::map<int, CodePlace> starts_;
  std::map<CodePlace, std::optional<std::uint64_t>> functions_;  // where they begin
};

}  // namespace hwprof::observe
