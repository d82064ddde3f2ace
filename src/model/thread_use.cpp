#include "src/model/thread_use.h"

namespace hwprof::model {

template <>
const Record& record<ThreadPool>() {
  static constexpr Field kFields[] = {
      field<&ThreadPool::name>(
          "name", "",
          "`OpenBLAS`, `libgomp`, ..., or the file whose code waits or that it is of; `main "
          "threads` "
          "are the first of each process, `other threads` those of which it is not known"),
      field<&ThreadPool::threads>("threads", "", "that it started, or that waited in it"),
      field<&ThreadPool::spin_share>("spin_share", "",
                                     "of the program's CPU time: waiting in its code"),
      field<&ThreadPool::run_ns>("run_ns", "ns",
                                 "over the threads that it started: on a CPU; null: none was read"),
      field<&ThreadPool::ready_ns>("ready_ns", "ns", "ready to run, without a CPU"),
      field<&ThreadPool::blocked_ns>("blocked_ns", "ns", "asleep"),
  };
  static constexpr Record kRecord{"ThreadPool", "Threads of one library.", kFields};
  return kRecord;
}

template <>
const Record& record<NestedPool>() {
  static constexpr Field kFields[] = {
      field<&NestedPool::outer>("outer", "", "whose threads call"),
      field<&NestedPool::inner>("inner", "", "of the library that is called"),
      field<&NestedPool::calls>("calls", "", "of 20 us and more, by threads of the outer one"),
      field<&NestedPool::time_share>("time_share", "",
                                     "of the time in all such calls of that library"),
  };
  static constexpr Record kRecord{
      "NestedPool", "A pool of threads inside another one, as far as `LD_AUDIT` saw its calls.",
      kFields};
  return kRecord;
}

template <>
const Record& record<ThreadSentence>() {
  static constexpr Field kFields[] = {
      field<&ThreadSentence::text>("text", "", "what is so"),
      field<&ThreadSentence::evidence>("evidence", "", "the numbers behind it"),
      field<&ThreadSentence::fix>("fix", "", "what to try; null: nothing is known to help")
          .null_if_empty(),
  };
  static constexpr Record kRecord{"ThreadSentence", "Said where the evidence is enough.", kFields};
  return kRecord;
}

template <>
const Record& record<ThreadUse>() {
  static constexpr Field kFields[] = {
      field<&ThreadUse::arithmetic_share>(
          "arithmetic_share", "",
          "of the CPU time: in loops that compute in floating point; null: `spin_reason`"),
      field<&ThreadUse::other_share>("other_share", "", "other work"),
      field<&ThreadUse::spin_share>("spin_share", "", "in loops that only wait for another thread"),
      field<&ThreadUse::idle_worker_share>(
          "idle_worker_share", "",
          "the same in the function that a thread was started with: it has no work"),
      field<&ThreadUse::spin_reason>("spin_reason", "", "why they are null").null_if_empty(),
      field<&ThreadUse::estimated>(
          "estimated", "",
          "the kernel's time was not sampled: what sched_yield took of it is estimated"),
      field<&ThreadUse::run_ns>("run_ns", "ns",
                                "over all threads: on a CPU; null: `clocks_reason`"),
      field<&ThreadUse::ready_ns>("ready_ns", "ns",
                                  "over all threads: ready to run, without a CPU"),
      field<&ThreadUse::throttled_ns>("throttled_ns", "ns",
                                      "over all CPUs: kept from them by a quota of the program's "
                                      "cgroup; null: `throttled_reason`"),
      field<&ThreadUse::blocked_ns>("blocked_ns", "ns", "over all threads: asleep"),
      field<&ThreadUse::clocks_reason>("clocks_reason", "", "").null_if_empty(),
      field<&ThreadUse::throttled_reason>("throttled_reason", "", "").null_if_empty(),
      field<&ThreadUse::coverage>("coverage", "", "CPU time that was sampled over all of it"),
      field<&ThreadUse::pools>("pools", "", "most CPU time of waiting first"),
      field<&ThreadUse::nested>("nested", "", "pools inside others; most time first"),
      field<&ThreadUse::sentences>("sentences", "", "most important first; empty: nothing is sure"),
  };
  static constexpr Record kRecord{
      "ThreadUse", "What the threads did with their CPUs: samples, and readings every 20 ms.",
      kFields};
  return kRecord;
}

}  // namespace hwprof::model
