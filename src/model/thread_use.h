// What the threads of an observed program did with their CPUs: its CPU time by what it was for, the
// wall time of its threads by their state, and what can be said of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

struct ThreadPool {
  std::string name;  // "OpenBLAS", "libgomp", or the file whose code waits or whose threads it has
  int threads = 0;   // that it started, or that waited in it
  double spin_share = 0;  // of the program's CPU time: waiting in its code
  // Over the threads that it started; absent: none of them lived long enough to be read.
  std::optional<double> run_ns = {}, ready_ns = {}, blocked_ns = {};
};

struct ThreadSentence {
  std::string text, evidence;
  std::string fix;  // empty: none that is known to help
};

// A pool whose calls come from the threads of another one: each of these may use all of it.
struct NestedPool {
  std::string outer, inner;
  std::uint64_t calls = 0;  // of the inner one's library, 20 us and longer, by threads of the outer
  double time_share = 0;    // of the time in all such calls
};

struct ThreadUse {
  // Of the program's CPU time; they add up to 1. Absent: spin_reason.
  std::optional<double> arithmetic_share, other_share, spin_share, idle_worker_share;
  std::string spin_reason;
  bool estimated = false;  // of an ordinary user's program: what sched_yield took inside the kernel
  // Over all threads. Absent: the reason beside it.
  std::optional<double> run_ns, ready_ns, blocked_ns;
  std::string clocks_reason;
  std::optional<double> throttled_ns;
  std::string throttled_reason;
  std::optional<double> coverage;  // CPU time that was sampled over all of it
  std::vector<ThreadPool> pools;   // most CPU time first
  std::vector<NestedPool> nested;  // most time first
  std::vector<ThreadSentence> sentences;
};

template <>
const Record& record<ThreadPool>();
template <>
const Record& record<NestedPool>();
template <>
const Record& record<ThreadSentence>();
template <>
const Record& record<ThreadUse>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::NestedPool, model::ThreadPool, model::ThreadSentence, model::ThreadUse;
}  // namespace hwprof::report
