#include "src/commands/run/watch.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

namespace hwprof {
namespace {

// A library that is mapped for a shorter time may be missed by looking; calls and samples have it.
constexpr std::chrono::milliseconds kTick{20};

}  // namespace

bool watch_until_end(Watch& watch) {
  using Clock = std::chrono::steady_clock;
  const bool ticks = watch.evidence != nullptr || watch.on_tick;
  auto next_tick = Clock::now();
  std::set<int> hung_up;  // counters whose tasks have all ended: poll would return at once for ever
  while (true) {
    std::vector<pollfd> waiting = {{watch.exit_descriptor, POLLIN, 0},
                                   {watch.signals.descriptor(), POLLIN, 0}};
    if (watch.evidence != nullptr) {
      for (const int fd : watch.evidence->descriptors())
        if (!hung_up.contains(fd)) waiting.push_back({fd, POLLIN, 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick - Clock::now());
    const int timeout = ticks ? static_cast<int>(std::max<std::int64_t>(0, left.count())) : -1;
    if (::poll(waiting.data(), waiting.size(), timeout) < 0 && errno != EINTR) return false;

    while (const auto signal = watch.signals.take())
      if (!watch.on_signal(*signal)) return false;
    bool records = false;
    for (std::size_t i = 2; i < waiting.size(); ++i) {
      records = records || waiting[i].revents != 0;
      if ((waiting[i].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) hung_up.insert(waiting[i].fd);
    }
    if (records) watch.evidence->drain();
    if (waiting[0].revents != 0) return true;
    if (!ticks || Clock::now() < next_tick) continue;
    if (watch.evidence != nullptr) watch.evidence->look();
    if (watch.on_tick && !watch.on_tick()) return false;
    next_tick = Clock::now() + kTick;
  }
}

}  // namespace hwprof
