#include "kernels/thread_team.h"

#include <pthread.h>
#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hwprof {
namespace {

// About 20 us on current cores: longer than the gap between two layers, shorter than a time slice.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns when `value` is no longer `old`.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadTeam::ThreadTeam(std::size_t size, const std::vector<unsigned>& cpus) {
  const bool pinned = !cpus.empty();
  try {
    for (std::size_t index = 1; index < size; ++index) {
      const unsigned cpu = pinned ? cpus[index % cpus.size()] : 0;
      workers_.emplace_back([this, index, cpu, pinned] { serve(index, cpu, pinned); });
    }
  } catch (...) {  // the system has no further thread: those that run must end first
    dismiss();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { dismiss(); }

void ThreadTeam::dismiss() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::serve(std::size_t index, unsigned cpu, bool pinned) {
  if (pinned) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    // A CPU taken away meanwhile leaves the thread on the inherited mask: slower, not wrong.
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
  for (std::uint32_t seen = 0;;) {
    wait_for_change(epoch_, seen);
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    (*work_)(index);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

void ThreadTeam::run(const std::function<void(std::size_t)>& work) {
  if (serial_ || workers_.empty()) {
    for (std::size_t index = 0; index < size(); ++index) work(index);
    return;
  }
  work_ = &work;
  pending_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  work(0);
  for (std::uint32_t left; (left = pending_.load(std::memory_order_acquire)) != 0;) {
    wait_for_change(pending_, left);
  }
}

}  // namespace hwprof
