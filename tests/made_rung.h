// Rungs of an OpenBLAS ladder, made up for the tests of verdicts; the numbers are those of one Zen
// 5 core.
#pragma once

#include <string>

#include "src/blas/providers/providers.h"

namespace hwprof::blas {

inline constexpr const char* kOpenBlas = "/usr/lib/openblas-pthread/libblas.so.3";

inline report::LadderRung rung(const std::string& setting, const std::string& core, double fraction,
                               Provider provider = Provider::kOpenBlas,
                               const std::string& library = kOpenBlas) {
  report::LadderRung made;
  made.core = core;
  made.setting = setting;
  made.library = library;
  made.provider = provider;
  made.gflops = 265 * fraction;
  made.peak_fraction = fraction;
  made.vector_class = vector_class_of(provider, core);
  made.as_found = setting == "as found";
  return made;
}

}  // namespace hwprof::blas
