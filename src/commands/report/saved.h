// A saved JSON report as a page has it: the same words as when it was measured, on another machine
// and later.
#pragma once

#include <span>
#include <string_view>

#include "src/base/result.h"
#include "src/commands/compare/report_file.h"
#include "src/report/render/render.h"

namespace hwprof {

// Of which a page can be made.
std::span<const std::string_view> saved_schemas();

// Fault::kUsage, with the file's name, where a value is not what its schema says.
Result<report::PageReport> saved_page(const ReportFile& file);

}  // namespace hwprof
