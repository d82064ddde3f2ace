// The main header of src/exact: counts the instructions of a region of this program exactly,
// without a PMU, by running a copy of its code in which each block counts itself (x86-64). Here
// lives what decodes, translates and counts; what times, reports or knows a BLAS may not: no time
// that is measured while counting means anything.
//
//   auto counted = exact::count([&] { sgemm(...); });
//   if (counted) counted->counts.total_flops();
//
// What counts as what stands in counts.h; docs/exact.md has the design, its limits and its costs.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <vector>

#include "src/base/result.h"
#include "src/exact/counts.h"

namespace hwprof::exact {

// What maps of a process call the memory of translated code, while it is there.
inline constexpr char kCodeFile[] = "hwprof-exact";

enum class Engine : std::uint8_t {
  kBlocks,  // near native speed
  kSteps,   // a trap an instruction, some 10 us each: what the other is tested against
};

// What ran of one block, for sums by function; `address` is one of this process.
struct CountedBlock {
  std::uint64_t address = 0;
  Counts counts;
};

struct Counted {
  Counts counts;
  std::vector<CountedBlock> blocks;  // in no order; of kSteps none
};

// Runs `run(argument)` once and counts what this thread executes from its first instruction to its
// return; handlers of signals that arrive are not counted. Errors:
//  - before, nothing ran: exact counting is not built, or not possible here;
//  - after, it ran, but what was counted is not all of it: other threads worked, a thread was
//    started, code changed or was not understood. There is no count then.
// `run` throws nothing.
Result<Counted> count_call(void (*run)(void*), void* argument, Engine engine);

// Whether count_call() can start, else why not.
Result<void> check_available();

// The same of anything that can be called. What it throws is caught in the region and thrown again
// behind it; there is no count then.
template <class Function>
Result<Counted> count(Function&& function, Engine engine = Engine::kBlocks) {
  struct Body {
    std::remove_reference_t<Function>* function;
    std::exception_ptr thrown;
  } body{std::addressof(function), nullptr};
  const auto run = [](void* argument) noexcept {
    auto& here = *static_cast<Body*>(argument);
    try {
      (*here.function)();
    } catch (...) {
      here.thrown = std::current_exception();
    }
  };
  Result<Counted> counted = count_call(run, &body, engine);
  if (body.thrown) std::rethrow_exception(body.thrown);
  return counted;
}

}  // namespace hwprof::exact
