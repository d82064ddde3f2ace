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

  // Whether the caller does the work of all threads, one after the other, so that what they execute
  // together can be counted on one. Not while it runs.
  void set_serial(bool serial) { serial_ = serial; }

 private:
  void dismiss();
  void serve(std::size_t index, unsigned cpu, bool pinned);

  std::vector<std::thread> workers_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::uint32_t> epoch_{0};    // raised once a run
  std::atomic<std::uint32_t> pending_{0};  // workers that have not ended this run
  std::atomic<bool> stop_{false};
  bool serial_ = false;
};

// Equal share [begin, end) of `count` items for `index` of `parts`; earlier parts take the rest.
inline std::pair<std::size_t, std::size_t> share_of(std::size_t count, std::size_t index,
                                                    std::size_t parts) {
  const std::size_t base = count / parts, rest = count % parts;
  const std::size_t begin = index * base + (index < rest ? index : rest);
  return {begin, begin + base + (index < rest ? 1 : 0)};
}

// f(first, last) on each thread with its share of `count` items; not on one without any.
template <class F>
void split(ThreadTeam* team, std::size_t count, const F& f) {
  const auto share = [&](std::size_t thread) {
    const auto [first, last] = share_of(count, thread, team->size());
    if (first != last) f(first, last);
  };
  team->run(std::cref(share));  // a std::function of the lambda itself would allocate
}

// The same of a kernel's share of a call, as each of its targets compiles it.
template <class Call>
void split(std::size_t count, const Call& call,
           void (*share)(const Call&, std::size_t first, std::size_t last)) {
  split(call.team, count, [&](std::size_t first, std::size_t last) { share(call, first, last); });
}

// f(i) for each of `count` items.
template <class F>
void for_each_item(ThreadTeam* team, std::size_t count, const F& f) {
  split(team, count, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) f(i);
  });
}

// How a batch of documents of different length is shared out to threads: by work, not by count, so
// that threads end together. A unit is one document times a part of the columns: one long document
// is split over its filters, many over the documents. Static, without a table.
//
// Calls visit(document, first part, last part) where parts of a document fall to `thread`: those
// units whose middle lies in its equal share of the whole. So no thread has more than its share and
// one unit.
//   documents.documents(), documents.positions_before(b) for b <= documents()
//   cost_before(part)  of the parts before `part`, for one position; part <= parts
template <class Documents, class CostBefore, class Visit>
void for_each_share(const Documents& documents, std::size_t parts, const CostBefore& cost_before,
                    std::size_t thread, std::size_t threads, const Visit& visit) {
  const std::size_t count = documents.documents(), cost = cost_before(parts);
  const std::size_t origin = documents.positions_before(0);
  const auto [begin, end] =
      share_of((documents.positions_before(count) - origin) * cost, thread, threads);
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t before = documents.positions_before(b) - origin;
    const std::size_t positions = documents.positions_before(b + 1) - origin - before;
    const std::size_t low = before * cost, high = low + positions * cost;
    const auto parts_before = [&](std::size_t limit) {
      if (limit <= low) return std::size_t{0};
      if (limit >= high) return parts;
      std::size_t part = 0;
      const auto twice_middle = [&] {
        return 2 * low + positions * (cost_before(part) + cost_before(part + 1));
      };
      while (part < parts && twice_middle() < 2 * limit) ++part;
      return part;
    };
    const std::size_t first = parts_before(begin), last = parts_before(end);
    if (first < last) visit(b, first, last);
  }
}

// The whole call where a document is not split: visit(document), on the threads of its team.
template <class Documents, class Visit>
void for_each_document(const Documents& documents, const Visit& visit) {
  documents.team->run([&](std::size_t thread) {
    const auto whole = [](std::size_t part) { return part; };
    for_each_share(documents, 1, whole, thread, documents.team->size(),
                   [&](std::size_t b, std::size_t, std::size_t) { visit(b); });
  });
}

}  // namespace hwprof
