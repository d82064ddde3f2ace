#include "src/observe/samples/thread_samples.h"

#include <algorithm>

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostEntries = 300'000;
// Where a function's end is not known: OpenBLAS's workers wait at the beginning of theirs.
constexpr std::uint64_t kBeginningBytes = 0x200;
constexpr CodePlace kNowhere{0, 0};  // as Images::kernel(): on nobody's behalf

}  // namespace

int ThreadTable::entered(int tid) {
  if (threads_.contains(tid)) return tid;
  if (threads_.size() >= kMostThreads) return kLater;
  threads_.insert(tid);
  return tid;
}

void ThreadTable::begins_at(int tid, CodePlace start) {
  if (entered(tid) == tid) starts_[tid] = start;
}

void ThreadTable::add(CodePlace hit, CodePlace returns_to, int thread) {
  const int tid = entered(thread);
  const auto key = std::tuple(hit, returns_to, tid);
  auto known = samples_.find(key);
  if (known == samples_.end()) {
    if (samples_.size() >= kMostEntries) {
      ++beyond_[tid];
      return;
    }
    known = samples_.emplace(key, 0).first;
  }
  ++known->second;
}

ThreadTable::Waiting ThreadTable::waiting(Images& images, const Judge& judge, CodePlace hit,
                                          CodePlace returns_to) {
  const CodePlace place = images.in_program(hit);
  if (place == kNowhere) return {};
  LoopJudgement judged = judge(place);
  const bool straight =
      judged.loop.width == LoopWidth::kNoLoop || judged.loop.width == LoopWidth::kNoArithmetic;
  // libomp reads the clock in a function of its own.
  if (judged.wait == Wait::kNone && straight && returns_to.image == place.image &&
      images.is_thread_runtime(place)) {
    judged = judge(returns_to);
  }
  if (judged.wait == Wait::kNone) return {};
  // A loop that has stopped to spin blocks in another system call: that is the kernel's time.
  if (judged.wait != Wait::kYield && Images::is_system_call(hit)) return {};
  const bool callers = images.is_c_library(place) && returns_to != kNowhere;
  return {true, judged.wait == Wait::kYield, callers ? returns_to : place};
}

bool ThreadTable::is_idle(Images& images, int tid, CodePlace site) {
  const auto start = starts_.find(tid);
  if (start == starts_.end() || start->second.image != site.image) return false;
  const auto [known, added] = functions_.try_emplace(site);
  if (added) known->second = images.function_begin(site);
  const std::uint64_t begin = start->second.at;
  if (known->second) return *known->second == begin;
  return site.at >= begin && site.at - begin < kBeginningBytes;
}

std::vector<ThreadSamples> ThreadTable::resolve(Images& images, const Judge& judge) {
  std::map<int, ThreadSamples> threads;
  std::map<std::tuple<int, std::string, bool>, WaitingSamples> waits;
  for (const auto& [key, samples] : samples_) {
    const auto& [hit, returns_to, tid] = key;
    const CodePlace place = images.in_program(hit);
    ThreadSamples& thread = threads[tid];
    thread.samples += samples;
    const Waiting waits_here = waiting(images, judge, hit, returns_to);
    if (!waits_here.is) {
      if (place == hit && is_arithmetic(judge(place).loop.width)) thread.arithmetic += samples;
      continue;
    }
    const bool idle = is_idle(images, tid, waits_here.site);
    WaitingSamples& entry = waits[{tid, images.path(waits_here.site), idle}];
    entry.samples += samples;
    if (waits_here.in_yield) entry.in_yield += samples;
  }
  for (const auto& [tid, samples] : beyond_) threads[tid].samples += samples;
  for (auto& [key, entry] : waits) {
    entry.file = std::get<1>(key);
    entry.idle = std::get<2>(key);
    threads[std::get<0>(key)].waits.push_back(std::move(entry));
  }
  std::vector<ThreadSamples> all;
  for (auto& [tid, thread] : threads) {
    thread.tid = tid;
    if (const auto start = starts_.find(tid); start != starts_.end())
      thread.start_file = images.path(start->second);
    all.push_back(std::move(thread));
  }
  return all;
}

}  // namespace hwprof::observe
