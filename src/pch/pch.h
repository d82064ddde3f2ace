// Precompiled for every unit of src/: what most of them include and what costs most to read. Only
// an accelerator: each file still includes what it uses (meson configure -Db_pch=false checks it).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>
