#include "src/observe/proc/layer_files.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) { hwprof::parse_layer_lines(std::string(text)); }
