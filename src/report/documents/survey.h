// What `hwprof blas` found: every BLAS of the machine, and the one that programs get.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/record.h"
#include "src/report/document.h"

namespace hwprof::report {

struct SurveyedBlas {
  std::string path, how;  // how it was found: "loader cache libopenblas.so.0", "given"
  std::string provider, version, core, threading;
  std::optional<int> threads;
  bool is_default = false;  // what a program gets that asks for libblas.so.3
  // One thread; sgemm and dgemm of the same size. Absent: `reason`.
  std::optional<double> sgemm_gflops, sgemm_peak_fraction;
  std::optional<double> dgemm_gflops, dgemm_peak_fraction;
  int size = 0;
  std::string select;  // command that makes it the default; "" when there is none
  std::string reason;
};

struct BlasSurvey {
  std::string version;
  Machine machine;
  std::vector<SurveyedBlas> libraries;  // fastest first
  Blas blas;                            // the default, with its ladder and verdict
  std::vector<std::string> notes;
};

Document survey_document(const BlasSurvey& survey);
std::string survey_json(const BlasSurvey& survey);  // hwprof.blas/1

// "verdict=optimal provider=openblas core=Zen gflops=61.3 peak_fraction=0.87", for other tools;
// "-" for what is not known.
std::string verdict_line(const std::string& verdict, const std::optional<std::string>& provider,
                         const std::string& core, std::optional<double> gflops,
                         std::optional<double> peak_fraction);

}  // namespace hwprof::report
