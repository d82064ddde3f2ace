// One call that is to be counted instruction by instruction, as the audit library hands it over to
// libhwprof-exact, or the region of which that one has to count entries: both are in the program,
// built together, each in a namespace of the loader's.
#pragma once

#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

struct Handover {
  const void* routine;        // to be called with the registers and the stack that came with this
  unsigned long stack_words;  // of its arguments
  unsigned long call;         // its number among those of the routine
  Shape shape;
  bool has_shape;
  // Ends of texts are not to be trusted: they lie in the table that the program may write.
  const char *symbol, *caller, *library;
  unsigned busy;  // 1 until it was read, and 0 from then on
};

// The function of libhwprof-exact that stands in for the routine. Called as that, with the address
// of the Handover in r10.
inline constexpr char kCounterName[] = "hwprof_exact_call_through";

// A variable of libhwprof-exact, written before any code of it runs, if regions are asked for.
struct RegionHandover {
  ExactCalls* wanted;            // of the table, which the program may write
  const unsigned* asks_nothing;  // not 0: the program limits its system calls
};
inline constexpr char kRegionsName[] = "hwprof_exact_regions";

}  // namespace hwprof::observe::audit
