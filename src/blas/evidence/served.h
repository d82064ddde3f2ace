// Who did a program's products: the step from evidence to one library. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "src/blas/judge/run_verdict.h"
#include "src/model/run_record.h"

namespace hwprof::blas {

struct Served {
  std::string provider;  // of the BLAS that worked; "" when none did
  std::string path;      // its file: the one that was called, else the one that executed
  const report::SelectedCore* core = nullptr;  // what it had chosen; into the evidence
  std::uint64_t calls = 0;                     // of this provider
  bool sampled = false;                        // there are samples enough to speak of shares
  double blas_share = 0;                       // of all samples: in that BLAS
  double other_share = 0;  // in oneDNN and in code that was generated at run time
  std::string other;       // "oneDNN code generated at run time"; "" when there is none
  // Into the evidence; null: no loops of theirs were sampled.
  const report::LibraryLoops* loops = nullptr;
  const report::LibraryLoops* other_loops = nullptr;
};

Served who_served(const report::BlasEvidence& evidence, const RunThresholds& thresholds);

// "libtorch_cpu" of "/usr/lib/libtorch_cpu.so.1.13".
std::string file_label(const std::string& path);

}  // namespace hwprof::blas
