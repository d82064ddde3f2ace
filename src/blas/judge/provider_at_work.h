// Who did a program's products: the step from evidence to one library. Pure.
//
// It is decided by what executed, then by what was called, and never by what is merely loaded: a
// program may call the reference while LAPACK has mapped OpenBLAS.
#pragma once

#include <optional>
#include <string>

#include "src/blas/judge/judge.h"
#include "src/model/blas.h"

namespace hwprof::blas {

struct ProviderAtWork {
  // What is known of it; of provider kNone when no BLAS worked. Its path is the file that was
  // called, else the one that executed; its threads those that worked, else those that it had.
  report::Blas library;
  std::string chosen_in;              // file that said its core; "" when none did
  std::optional<int> chosen_threads;  // that it was set to use
  bool sampled = false;               // there are samples enough to speak of shares
  double blas_share = 0;              // of all samples: in that BLAS
  double other_share = 0;             // in oneDNN and in code that was generated at run time
  bool onednn = false;                // which has to do with oneDNN
  std::string other;                  // "oneDNN code generated at run time"; "" when there is none
  // Into the evidence; null: no loops of theirs were sampled.
  const report::LibraryLoops* loops = nullptr;
  const report::LibraryLoops* other_loops = nullptr;
};

ProviderAtWork provider_at_work(const report::BlasEvidence& evidence,
                                const Thresholds& thresholds = {});

// The library whose ladder is to be climbed: path of the one that worked, else of the one that has
// chosen a core; "" when none did, or none that can be loaded.
std::string library_to_measure(const report::BlasEvidence& evidence);

}  // namespace hwprof::blas
