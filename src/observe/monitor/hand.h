// The part of hwprof that does for a worker what takes rights (requests.h), in a process of its
// own: what it opens, asks about and closes may be in the hands of the observed user, who can make
// the kernel wait there for as long as he likes, also for a SIGKILL (docs/security.md). Then the
// worker goes on without, and the monitor, which does none of that, leaves it behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "src/base/account.h"
#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/monitor/channel.h"
#include "src/observe/proc/signals.h"

namespace hwprof::observe {

// What the monitor says to the hand. It waits for no answer.
struct Order {
  enum class Kind : std::uint32_t {
    kServe,       // this worker; with its pidfd, as the next two
    kObserve,     // what descends from this process
    kObserveOwn,  // a process of hwprof's, until its execve
    kLeaveRings,  // the worker has its own by now
    kEnd,         // -> what was taken of the budgets, as text
  };
  Kind kind = Kind::kEnd;
  std::int32_t pid = 0;
};

class Hand {
 public:
  // For processes of that user alone. `questions` is its end of the worker's channel.
  static Result<Hand> start(const Account& user, Channel questions);

  void give(const Order& order, int process = -1) const;
  // It removes the probes, and ends; gives what it said then. What it hangs in is nobody's to wait
  // for: who takes longer than `patience`, or than a signal that asks for the end, is killed.
  std::string end(std::chrono::milliseconds patience, SignalWatch& signals);

 private:
  [[nodiscard]] bool ends_within(std::chrono::milliseconds patience, SignalWatch& signals) const;
  void kill() const;
  // How it ended, as wait(2) says; 0 where another process keeps that. It must have ended.
  [[nodiscard]] int status() const;
  // What it said at its end; empty: nothing.
  [[nodiscard]] std::string last_words() const;
  // What a hand that was killed, or does not end, has left in tracefs. That may wait as well, so a
  // process of its own does it, which has so long.
  void remove_probes(std::chrono::milliseconds patience) const;

  Hand(pid_t pid, UniqueFd ended, Channel orders)
      : pid_(pid), ended_(std::move(ended)), orders_(std::move(orders)) {}

  pid_t pid_ = 0;
  UniqueFd ended_;
  Channel orders_;
};

}  // namespace hwprof::observe
