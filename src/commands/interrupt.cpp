#include "src/commands/interrupt.h"

#include <csignal>

namespace hwprof {
namespace {

std::atomic<bool> stop_wanted{false};
volatile std::sig_atomic_t signal_number = 0;

void on_signal(int number) {
  signal_number = number;
  stop_wanted.store(true, std::memory_order_relaxed);
}

static_assert(std::atomic<bool>::is_always_lock_free, "used in a signal handler");

}  // namespace

const std::atomic<bool>& interrupted() { return stop_wanted; }

int interrupt_exit_code() { return signal_number == 0 ? 0 : 128 + signal_number; }

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  // RESETHAND: the second signal has its default effect. RESTART: no call fails because of us.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

}  // namespace hwprof
