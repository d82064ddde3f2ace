// What plans of FFTW were made for, in the audit library: a planner's arguments tell, and its
// result is what the executions name.
#pragma once

#include "src/observe/audit/arguments.h"
#include "src/observe/audit/prepared.h"
#include "src/observe/audit/slots.h"
#include "src/observe/routines/fftw_routine.h"

namespace hwprof::observe::audit {

namespace fftw_plan {

// False: no number that is one, or nothing that can be read.
inline bool read_size(u64 address, bool wide, long& size) {
  if (!may_be_pointer(address, wide ? 8 : 4)) return false;
  size = wide ? *reinterpret_cast<const long*>(address) : *reinterpret_cast<const int*>(address);
  return size > 0;
}

inline int integer_at(const u64* arguments, signed char position) {
  return static_cast<int>(arguments[place_of(position)]);
}

// Of the array in argument `first + 1` with its rank in the one before it.
inline bool read_sizes(const fftw::Planner& planner, const u64* arguments, signed char first,
                       TensorShape& sizes) {
  const int rank = integer_at(arguments, first);
  if (rank < 0 || static_cast<u64>(rank) > TensorShape::kMostDimensions) return false;
  const u64 array = arguments[place_of(static_cast<signed char>(first + 1))];
  for (int i = 0; i < rank; ++i) {
    if (!read_size(array + static_cast<u64>(i) * planner.step, planner.step == fftw::kDimension64,
                   sizes.sizes[i])) {
      return false;
    }
  }
  sizes.dimensions = static_cast<u64>(rank);
  return true;
}

inline bool read_count(const fftw::Planner& planner, const u64* arguments, TensorShape& count) {
  count.dimensions = 1;
  count.sizes[0] = 1;
  if (!planner.many) return true;
  if (!planner.guru) {
    count.sizes[0] = integer_at(arguments, 2);
    return count.sizes[0] > 0;
  }
  TensorShape sizes;
  if (!read_sizes(planner, arguments, 2, sizes)) return false;
  for (u64 i = 0; i < sizes.dimensions; ++i)
    if (__builtin_mul_overflow(count.sizes[0], sizes.sizes[i], &count.sizes[0])) return false;
  return true;
}

}  // namespace fftw_plan

// `work` is cleared. Sizes that cannot be read are left out.
inline void describe(const fftw::Function& function, const u64* arguments, PreparedWork& work) {
  using namespace fftw_plan;
  const fftw::Planner& planner = *function.planner;
  copy_text(work.kind, sizeof work.kind, planner.kind);
  copy_text(work.type, sizeof work.type, function.type);
  if (planner.sign >= 0) {
    const char* direction = integer_at(arguments, planner.sign) < 0 ? "forward" : "backward";
    copy_text(work.direction, sizeof work.direction, direction);
  }
  bool known = true;
  if (planner.rank == fftw::kArray) {
    known = read_sizes(planner, arguments, 0, work.source);
  } else {
    work.source.dimensions = static_cast<u64>(planner.rank);
    for (signed char i = 0; i < planner.rank; ++i) {
      work.source.sizes[i] = integer_at(arguments, i);
      known = known && work.source.sizes[i] > 0;
    }
  }
  if (!known || !read_count(planner, arguments, work.weights))
    work.source.dimensions = work.weights.dimensions = 0;
  // All bytes of it are compared.
  for (u64 i = work.source.dimensions; i < TensorShape::kMostDimensions; ++i)
    work.source.sizes[i] = 0;
  if (work.weights.dimensions == 0) work.weights.sizes[0] = 0;
}

// Of this process, each at one of a few places that its address gives; where those are taken, a
// later plan has the place of an earlier one. Threads may make, execute and destroy plans at the
// same time.
struct KnownPlan {
  u64 plan;   // 0: none
  u32 place;  // in `prepared` of the table, 1 more; 0: what it was made for is not known
};
inline constexpr u32 kKnownPlans = 4096, kPlacesOfPlan = 8;
inline KnownPlan known_plans[kKnownPlans];

inline KnownPlan& plan_at(u64 plan, u32 next) {
  return known_plans[((plan * 0x9e3779b97f4a7c15 >> 40) + next) % kKnownPlans];
}

inline void remember_plan(u64 plan, u32 place) {
  KnownPlan* free = &plan_at(plan, 0);
  for (u32 i = kPlacesOfPlan; i-- > 0;) {
    KnownPlan& known = plan_at(plan, i);
    const u64 other = load(known.plan);
    if (other == 0 || other == plan) free = &known;
    if (other == plan) break;
  }
  __atomic_store_n(&free->plan, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&free->place, place, __ATOMIC_RELEASE);
  __atomic_store_n(&free->plan, plan, __ATOMIC_RELEASE);
}

// nullptr: not known.
inline const PreparedWork* work_of_plan(const Table& table, u64 plan) {
  for (u32 i = 0; i < kPlacesOfPlan; ++i) {
    const KnownPlan& known = plan_at(plan, i);
    if (load(known.plan) != plan) continue;
    const u32 place = load(known.place);
    const bool same = load(known.plan) == plan && place > 0 && place <= kPreparedCalls;
    return same ? &table.prepared[place - 1].work : nullptr;
  }
  return nullptr;
}

}  // namespace hwprof::observe::audit
