// Manual pages in roff (man(7)), from what --help prints: one page of the program, one a command.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/command_help.h"

namespace hwprof::cli {

// `date`: "2026-01-31", in the page's footer.
std::string program_page(const ProgramHelp& program, std::string_view version,
                         std::string_view date);
std::string command_page(const ProgramHelp& program, const CommandHelp& command,
                         std::string_view version, std::string_view date);

}  // namespace hwprof::cli
