// What tables of exact counts have in common: their cells, and a row a function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/exact_record.h"
#include "src/report/document.h"

namespace hwprof::report {

// "1.000": to three digits behind the point, and a difference that they would hide is not hidden.
std::string exact_ratio_text(double ratio);
// "99.2 %"; what is not all of it is not rounded to that, nor what is there to nothing.
std::string exact_share_text(std::uint64_t part, std::uint64_t whole);
// "256 bit 99.2 %, scalar 0.8 %": largest share first.
std::string exact_widths_text(const model::FlopsByWidth& widths, std::uint64_t flops);
// Of a C++ function its name alone: without what it returns, and its parameters.
std::string exact_function_cell(const std::string& symbol);
// Of a table by function; and what they hold, a row for each function with a hundredth of the FLOP
// or of the instructions.
std::vector<Column> exact_function_columns();
inline constexpr std::string_view kExactFunctionsNote =
    "Functions with at least 1 % of the FLOP or of the instructions of a call, without those that "
    "they call.";
std::vector<TableRow> exact_function_rows(const std::string& group, const ExactCount& count);

}  // namespace hwprof::report
