// Writers of a comparison, and what they share; none computes, none touches a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/model/comparison_record.h"
#include "src/report/documents/content.h"
#include "src/report/render/writers.h"

namespace hwprof::report {

std::string comparison_text(const Comparison& comparison, const TextStyle& style);
std::string comparison_json(const Comparison& comparison);  // hwprof.compare/1
std::string comparison_csv(const Comparison& comparison);   // one line a row
std::string comparison_markdown(const Comparison& comparison);

// The rows that are slower, else what else there is to say.
Headline headline(const Comparison& comparison);
std::vector<Field> comparison_fields(const Comparison& comparison);
Table changes_table(const Comparison& comparison, const FileComparison& file);
// Rows that only one of the files has, a sentence each.
std::vector<std::string> lonely_rows(const FileComparison& file);
// All rows of `file` with this verdict.
std::vector<const ComparedRow*> rows_with(const FileComparison& file, std::string_view verdict);

}  // namespace hwprof::report
