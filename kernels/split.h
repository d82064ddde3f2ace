// Work on many alike items, shared out over a team's threads.
#pragma once

#include <cstddef>
#include <functional>

#include "kernels/thread_team.h"

namespace hwprof {

// f(first, last) on each thread with its share of `count` items; not on one without any.
template <class F>
void split(ThreadTeam* team, std::size_t count, const F& f) {
  const auto share = [&](std::size_t thread) {
    const auto [first, last] = share_of(count, thread, team->size());
    if (first != last) f(first, last);
  };
  team->run(std::cref(share));  // a std::function of the lambda itself would allocate
}

// f(i) for each of `count` items.
template <class F>
void for_each_item(ThreadTeam* team, std::size_t count, const F& f) {
  split(team, count, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) f(i);
  });
}

}  // namespace hwprof
