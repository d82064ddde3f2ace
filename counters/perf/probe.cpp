#include "counters/perf/probe.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hwprof {
namespace {

constexpr int kSteps = 2000;
constexpr std::size_t kPages = 64, kPageBytes = 4096, kLineBytes = 64;

void short_loop() {
  volatile int sink = 0;
  for (int i = 0; i < kSteps; ++i) sink = sink + i;
}

// Volatile, so that the two ways stay branches and the sums stay arithmetic.
void arithmetic_and_branches() {
  volatile float single = 1;
  volatile double twice = 1;
  volatile unsigned even = 0, odd = 0;
  std::uint32_t random = 1;
  for (int i = 0; i < kSteps; ++i) {
    random = random * 1664525u + 1013904223u;  // Numerical Recipes' generator
    if (random & 0x80000000u)
      odd = odd + 1;
    else
      even = even + 1;
    single = single * 0.5f + 1.0f;
    twice = twice * 0.5 + 1.0;
  }
}

// Out of every cache, so that the next load comes from memory.
void flush_line(const volatile char* address) {
#if defined(__x86_64__)
  _mm_clflush(const_cast<const char*>(address));
#elif defined(__aarch64__)
  asm volatile("dc civac, %0" ::"r"(address) : "memory");
#else
  static_cast<void>(address);
#endif
}

void memory() {
  void* pages = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  auto* bytes = static_cast<volatile char*>(pages);
  // A line further on each page: the same set of the cache for all would be a special case.
  const auto line = [](std::size_t page) {
    return page * (kPageBytes + kLineBytes) % (kPages * kPageBytes);
  };
  for (std::size_t page = 0; page < kPages; ++page) bytes[line(page)] = 1;
  for (std::size_t page = 0; page < kPages; ++page) flush_line(&bytes[line(page)]);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  int sum = 0;
  for (std::size_t page = 0; page < kPages; ++page) sum += bytes[line(page)];
  volatile int sink = sum;
  static_cast<void>(sink);
  munmap(pages, kPages * kPageBytes);
}

void run(Trial trial) {
  short_loop();
  if (trial == Trial::kShort) return;
  arithmetic_and_branches();
  memory();
}

}  // namespace

Probe probe_events(const Machine& machine, std::span<const NativeEvent> events, Trial trial) {
  Probe probe;
  GroupOptions options;
  auto group = Group::open(events, options);
  if (!group && (group.error().code == EACCES || group.error().code == EPERM)) {
    options.user_only = probe.user_only = true;
    group = Group::open(events, options);
  }
  if (!group) {
    probe.refusal = explain_open_failure(machine, group.error().code, events.front().text);
    return probe;
  }
  auto done = group->enable();
  run(trial);
  if (done) done = group->disable();
  if (done) done = group->read(probe.reading);
  if (!done) {
    probe.refusal = {CountStatus::kNotCounted, done.error().what, ""};
    return probe;
  }
  if (probe.reading.time_running_ns == 0) {
    probe.refusal = {CountStatus::kNotCounted,
                     fmt::format("{} opened, but never ran", events.front().text),
                     machine.nmi_watchdog.value_or(false)
                         ? "the NMI watchdog holds a counter: sysctl kernel.nmi_watchdog=0"
                         : "another program may hold the counters"};
    return probe;
  }
  probe.runs = true;
  return probe;
}

}  // namespace hwprof
