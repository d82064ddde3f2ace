// The stacks of samples by instruction and line, for formats that know more than names.
#pragma once

#include "src/model/stacks.h"
#include "src/observe/python/line_stacks.h"
#include "src/observe/samples/code_lines.h"
#include "src/observe/samples/line_profile.h"
#include "src/observe/samples/sample_table.h"

namespace hwprof::observe {

// Of the samples that `tallied` has, as SampleTable::add_stacks() names them; after its resolve().
report::PlacedStacks placed_stacks(const LineProfile& tallied, SampleTable& table,
                                   const CodeLines& code, const LineStacks& python);

}  // namespace hwprof::observe
