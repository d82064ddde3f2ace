// A fixed team of threads, one a CPU, for work that is split statically. Starting a thread costs
// more than a whole linear layer, so the team waits: it spins for a while (a layer follows the
// last one within microseconds), then sleeps in the kernel, so that an idle team costs nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace hwprof {

class ThreadTeam {
 public:
  // `size` threads with the caller as number 0. Thread i is pinned to cpus[i % cpus.size()];
  // empty `cpus`: nobody is pinned. The caller's own affinity is left alone. Throws
  // std::system_error when the system has no further thread.
  ThreadTeam(std::size_t size, const std::vector<unsigned>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] std::size_t size() const { return workers_.size() + 1; }

  // Calls work(i) once on each thread i and returns when all have ended. Not re-entrant; `work`
  // must not throw.
  void run(const std::function<void(std::size_t)>& work);

 private:
  void dismiss();
  void serve(std::size_t index, unsigned cpu, bool pinned);

  std::vector<std::thread> workers_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::uint32_t> epoch_{0};    // raised once a run
  std::atomic<std::uint32_t> pending_{0};  // workers that have not ended this run
  std::atomic<bool> stop_{false};
};

// Equal share [begin, end) of `count` items for `index` of `parts`; earlier parts take the rest.
inline std::pair<std::size_t, std::size_t> share_of(std::size_t count, std::size_t index,
                                                    std::size_t parts) {
  const std::size_t base = count / parts, rest = count % parts;
  const std::size_t begin = index * base + (index < rest ? index : rest);
  return {begin, begin + base + (index < rest ? 1 : 0)};
}

}  // namespace hwprof
