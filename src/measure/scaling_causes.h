// Why a quantity does not grow as its model: only what the points themselves show. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/measure/scaling_law.h"

namespace hwprof {

// Sentences; "no cause found" where the evidence is for none. `points` by ascending size, times in
// nanoseconds; those from `settled` on follow the model.
std::vector<std::string> scaling_causes(std::span<const LawPoint> points, std::size_t settled,
                                        const LawSubject& subject);

}  // namespace hwprof
