// What the markdown writers share. Internal to src/report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/report/documents/content.h"

namespace hwprof::report {

// As text, whatever its characters mean to GitHub or a terminal.
std::string markdown_escaped(std::string_view text);
// A heading and a GitHub table with its notes; empty where there is nothing to say.
std::string markdown_table(const Table& table);
std::string markdown_list(const std::vector<Field>& fields);

}  // namespace hwprof::report
