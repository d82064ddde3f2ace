#include "src/commands/compare/comparable.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) { hwprof::parse_comparable("true", std::string(text)); }
