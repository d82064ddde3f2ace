#include "src/blas/ladder/rung.h"

#include "src/blas/ladder/replay.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  hwprof::blas::parse_rung_output(std::string(text));
  hwprof::blas::parse_denormal_output(std::string(text));
  // What a child is asked to make again is read as it was written.
  const auto calls = hwprof::blas::parse_replay(std::string(text));
  if (!calls) return;
  const auto again = hwprof::blas::parse_replay(hwprof::blas::replay_text(*calls));
  must(again.has_value() && again->size() == calls->size());
}
