// Rows of the table of `hwprof profile`, for other commands that measure: an option of one name
// means the same everywhere.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/cli/value_options.h"
#include "src/commands/profile_options.h"

namespace hwprof::cli {

// `names` as the table has them ("-o,--output"); in its order.
std::vector<ValueOption<ProfileOptions>> profile_rows(std::span<const std::string_view> names);

}  // namespace hwprof::cli
