// A region that no one function holds: it begins where one returns to and ends where another is
// called, as those that a program marks by two calls.
//
// The first function has count_from() translate what it returns to, and goes there by a jump in
// place of returning. From then on the thread runs in translation, whatever it returns from, until
// it calls the other function, which asks for end_region() first of all. A thread that never does
// stays in translation, and there is no count.
#pragma once

#include "src/exact/exact.h"

namespace hwprof::exact {

class OpenRegion;

struct Entered {
  OpenRegion* region;
  const void* code;  // where to go on in place of `from`, with the same registers and stack
};

// Errors as of count_call() before the region: nothing has changed then.
Result<Entered> count_from(const void* from, const void* ends_at);

// By the thread that entered it, in the function at `ends_at`; `region` is gone then. Errors as of
// count_call() after the region.
Result<Counted> end_region(OpenRegion* region);

}  // namespace hwprof::exact
