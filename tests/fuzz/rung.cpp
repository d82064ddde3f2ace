#include "src/blas/ladder/rung.h"

#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  hwprof::blas::parse_rung_output(std::string(text));
  hwprof::blas::parse_denormal_output(std::string(text));
}
