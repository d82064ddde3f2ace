// What the audit library has written of objects that were made before for one kind of work: as
// text, and how many operations they are. The watched program may have written anything there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/model/prepared_call.h"
#include "src/observe/audit/table.h"
#include "src/observe/calls/shape_counts.h"

namespace hwprof::observe {

// A text in the table, whose end nobody promises.
template <std::size_t kRoom>
std::string text_in(const char (&text)[kRoom]) {
  return {text, ::strnlen(text, kRoom)};
}

// Products and their sums count as two, those with padding among them, whatever the kernel does
// instead of them (Winograd). A complex transform of N numbers counts as 5 N log2 N, of real ones
// as half of that: the convention of FFTW's authors (fftw.org/speed), not what a plan computes.
// Absent: it does neither (a reorder, an activation, planning), or the shape does not tell.
std::optional<double> flop_count(const PreparedWork& work, Prepared by);

// Without its callers, count and time. `by`: calls of that kind.
report::PreparedCall describe(const PreparedWork& work, Prepared by);
// Of calls of which it is not known.
report::PreparedCall describe_unknown(Prepared by);

// With them; FLOP over all of them.
report::PreparedCall counted(report::PreparedCall call, std::optional<double> flops_of_one,
                             const CountedCalls& calls);

// By their sites, which are places in the table: places in `prepared`.
using PreparedOfSites = std::map<std::uint32_t, std::vector<std::uint32_t>>;
PreparedOfSites prepared_of_sites(const audit::Table& table);

// Calls of the same work from the same file become one; longest time first. Fills the shares.
void merge_prepared(std::vector<report::PreparedCall>& calls);

}  // namespace hwprof::observe
