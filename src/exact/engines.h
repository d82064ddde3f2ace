// The two ways to count a region, behind count_call().
#pragma once

#include <cstddef>

#include "src/exact/exact.h"

namespace hwprof::exact {

Result<Counted> count_blocks(void (*run)(void*), void* argument);
Result<Counted> count_steps(void (*run)(void*), void* argument);

void warm_up();  // decode.h

// What xsave writes for all that is enabled, in bytes; 0 where there is no xsave. Where in it a
// component lies (Intel SDM, vol. 1, chapter 13): 2 upper halves of ymm, 5 opmasks.
std::size_t state_bytes();
std::size_t state_offset(unsigned component);

}  // namespace hwprof::exact
