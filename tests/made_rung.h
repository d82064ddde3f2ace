// Rungs of an OpenBLAS ladder, made up for the tests of verdicts; the numbers are those of one Zen
// 5 core.
#pragma once

#include <string>

#include "src/blas/providers/core_types.h"
#include "src/model/record.h"

namespace hwprof::blas {

inline constexpr const char* kOpenBlas = "/usr/lib/openblas-pthread/libblas.so.3";

inline report::LadderRung rung(const std::string& setting, const std::string& core,
                               double fraction) {
  report::LadderRung made;
  made.core = core;
  made.setting = setting;
  made.library = kOpenBlas;
  made.provider = "openblas";
  made.gflops = 265 * fraction;
  made.peak_fraction = fraction;
  made.vector_class = vector_class_of("openblas", core);
  made.as_found = setting == "as found";
  return made;
}

}  // namespace hwprof::blas
