// What tables of exact counts have in common: their cells, and a row a function.
#pragma once

#include <string>
#include <vector>

#include "src/model/exact_record.h"
#include "src/report/document.h"

namespace hwprof::report {

// "1.000": to three digits behind the point, and a difference that they would hide is not hidden.
std::string exact_ratio_text(double ratio);
// "256 bit 99.2 %, scalar 0.8 %": widest share first.
std::string exact_widths_text(const model::FlopsByWidth& widths, std::uint64_t flops);
// Name, share of the FLOP in percent, FLOP by width, instructions, loaded, stored, library: of the
// functions with a hundredth of the FLOP or of the instructions.
std::vector<TableRow> exact_function_rows(const std::string& group, const ExactCount& count);

}  // namespace hwprof::report
