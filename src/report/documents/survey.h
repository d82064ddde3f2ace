// What `hwprof blas` found: every BLAS of the machine, and the one that programs get.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/inspect.h"
#include "src/report/document.h"

namespace hwprof::report {

Document survey_document(const BlasSurvey& survey);
std::string survey_json(const BlasSurvey& survey);  // hwprof.blas/1

// "verdict=optimal provider=openblas core=Zen gflops=61.3 peak_fraction=0.87", for other tools;
// "-" for what is not known.
std::string verdict_line(VerdictKind verdict, const Blas& library, std::optional<double> gflops,
                         std::optional<double> peak_fraction);

}  // namespace hwprof::report
