// From single calls to sites: who called which routine of which library, how often, with which
// shapes, and for how long. Pure: records in, the report's structs out.
//
// One product may pass several routines (cblas_sgemm calls sgemm_, MKL's dispatcher calls its
// interface layer): the outermost one is counted, under its symbol and its caller; the innermost
// one names the library that served it. A call is inside another one of its thread when
//   - that one has not returned, as far as returns are watched, and its caller is a file that has
//     routines: what others call after a longjmp() is a call of their own,
//   - or its return address lies within the code of another routine,
//   - or it begins with the stack and the return address of another routine of the same operation:
//     a jump in its end, if its code has one that may lead there. What begins there once more, or
//     does something else, is called from the same place: of an interpreter's foreign functions all
//     are.
//
// Of a program with very many calls only a sample is recorded. A single record tells nothing of the
// calls around it: a call in the sample is taken for what the last one from its place was while all
// were recorded. The samples are then scaled to the number of calls that the kernel counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/model/run_record.h"
#include "src/observe/calls/probes.h"
#include "src/observe/calls/shape_counts.h"
#include "src/observe/calls/union_of_times.h"
#include "src/observe/proc/address_space.h"

namespace hwprof::observe {

// A routine that is watched; its number is its place in the list.
struct WatchedRoutine {
  std::string path;  // as the kernel names the mapped file
  EntryPoint entry;
};

class CallTally {
 public:
  // Returns the number of the routine.
  std::uint32_t watch(WatchedRoutine routine);
  // The file that is watched as `path` has another one too. The report names it as the first
  // process that maps it does.
  void also_named(const std::string& path, const std::string& other);
  // In the order of time: what becomes of processes and threads, and their calls.
  void apply(const Record& change);
  void add(const ProbeHit& hit);
  // One call of a sample.
  void add_sample(const ProbeHit& hit);
  // All samples stand for this many calls, those within others among them. False: there are none to
  // stand for them.
  bool scale_samples(std::uint64_t calls);
  // Whether any of the sample was within another one.
  [[nodiscard]] bool nested_samples() const { return nested_samples_ > 0; }
  // From here on no returns are seen.
  void stop_timing();
  // Everything; open calls are counted, but have no time.
  std::vector<report::CallSite> sites();
  // With a thread inside a timed call; absent where the time of some is not known.
  [[nodiscard]] std::optional<double> wall_ns() const;
  [[nodiscard]] std::uint64_t returns() const { return returns_; }
  // Calls that were taken for part of another one, whose return was not watched.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Frame {
    std::uint32_t id;
    std::uint64_t stack_pointer, return_address;
  };
  struct Call {  // outermost, not yet booked
    std::uint32_t id = 0, innermost = 0;
    std::string caller;
    std::uint64_t return_address = 0;
    std::uint64_t began_ns = 0;
    std::optional<Shape> shape;
    double time_ns = -1;
  };
  struct Thread {
    std::vector<Frame> frames;            // timed calls that have not returned
    Frame last{};                         // the call before this one,
    std::vector<std::uint32_t> begun_as;  // and by which routines it came there, by jumps
    std::optional<Call> call;
  };
  struct Site {
    explicit Site(const Routine& routine) : shapes(routine), sampled(routine) {}
    ShapeCounts shapes, sampled;
    std::uint64_t samples = 0;
  };

  // What the last recorded call of a routine from a place was.
  struct Habit {
    bool nested = false;
    std::uint32_t innermost = 0;
  };
  using Place = std::pair<std::uint64_t, std::uint32_t>;  // return address, routine

  void enter(const ProbeHit& hit);
  void leave(const ProbeHit& hit);
  // Whether the call before this one has come here by a jump.
  [[nodiscard]] bool jumped(const Thread& thread, const ProbeHit& hit) const;
  // `caller` holds the return address, or is null.
  [[nodiscard]] bool inside_routine(const Mapping* caller, std::uint64_t return_address) const;
  // Whether the code of `from` has a jump that may lead to `to`.
  [[nodiscard]] bool may_jump(std::uint32_t from, std::uint32_t to) const;
  // As which the file is watched, and as which it is reported; else `path`.
  [[nodiscard]] const std::string& watched_as(const std::string& path) const;
  [[nodiscard]] const std::string& reported_as(const std::string& path) const;
  [[nodiscard]] std::string file_of(const Mapping* caller) const;
  Site& site_of(std::uint32_t id, std::uint32_t innermost, const std::string& caller);
  void book(Thread& thread);
  void remember(std::uint64_t return_address, std::uint32_t id, Habit habit);

  std::vector<WatchedRoutine> routines_;
  std::vector<std::string> operations_;                                 // of each
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> code_;  // path: offset: end
  std::map<std::string, std::string> watched_as_, reported_as_;
  AddressSpaces spaces_;
  std::unordered_map<pid_t, Thread> threads_;
  std::map<std::tuple<std::uint32_t, std::string, std::string>, Site> sites_;
  std::map<Place, Habit> habits_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> jumps_;  // from, to
  UnionOfTimes inside_;
  std::uint64_t nested_samples_ = 0;
  bool timing_ = true;
  std::uint64_t returns_ = 0;
};

}  // namespace hwprof::observe
