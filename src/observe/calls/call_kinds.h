// Calls by what they were: one routine and shape, or one kind of prepared work, from one place; and
// by the module of a framework in which they were made.
#pragma once

#include <vector>

#include "src/observe/calls/audited_calls.h"
#include "src/observe/calls/bindings.h"

namespace hwprof::observe {

std::vector<CallKind> kinds_of(const audit::Table& table, const Bindings& bindings,
                               const Backends& backends, double ns_per_tick);

// Of outermost calls, as the sites are.
std::vector<CallsOfModule> read_modules(const audit::Table& table, const Bindings& bindings,
                                        const Backends& backends, double ns_per_tick);

}  // namespace hwprof::observe
