// How a batch of documents of different length is shared out to threads: by work, not by count, so
// that threads end together. A unit is one document times a part of the columns: one long document
// is split over its filters, many over the documents. Static, without a table.
#pragma once

#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

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
