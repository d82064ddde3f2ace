// Rows of the table of `hwprof profile`, for other commands that measure: an option of one name
// means the same everywhere.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/value_options.h"
#include "src/commands/profile_options.h"

namespace hwprof::cli {

// Everything that can be typed, whichever workload it is for.
struct ProfileFlags {
  std::string workload = "textcnn";
  std::vector<std::string> given;  // long names of the options that were typed
  std::vector<std::string> variants;
  MeasureOptions measure;
  TextCnnOptions text_cnn;
  NetworkOptions network;
  MlpOptions mlp;
  bool require_optimal_blas = false, require_counters = false;
};

// `names` as the table has them ("-o,--output"); in its order.
std::vector<ValueOption<ProfileFlags>> profile_rows(std::span<const std::string_view> names);

}  // namespace hwprof::cli
