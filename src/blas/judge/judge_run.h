// The verdict on a program: who did the work, then the one judge on that, and the sentences that
// say who called what, what did the work with which vectors, and what else took the time. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/blas/judge/judge.h"
#include "src/blas/judge/provider_at_work.h"
#include "src/model/memory_record.h"

namespace hwprof::blas {

// Of the process tree, by the kernel's count and the largest process; absent: not known.
struct MemoryUse {
  std::optional<double> faults = {};
  std::optional<double> peak_bytes = {};
  double page_bytes = 4096;
  const report::LargeMemory* large = nullptr;  // absent: nobody looked
};

struct RunEvidence {
  const report::BlasEvidence& evidence;
  const std::vector<report::LadderRung>& ladder;  // empty: not climbed
  VisibleCpu cpu = {};
  std::vector<report::InstalledBlas> installed = {};  // for the fix; may be empty
  std::size_t cpus = 1;                               // that the program may use
  bool attached = false;                              // it runs already, as it was started
  bool no_ladder = false;                             // none was wanted
  std::optional<double> wall_ns = {};                 // of the program
  // CPU time of the program, and of it what watching has added, which is none of the program's own.
  std::optional<double> cpu_ns = {};
  // Of its CPU time, spent waiting, by what the loops of its threads do; absent: by names alone.
  std::optional<double> waiting_share = {};
  MemoryUse memory = {};
};

// Fills everything but evidence, ladder, ladder_note and what was made again.
report::RunBlas judge_run(const RunEvidence& run, const Thresholds& thresholds = {});

// Of all samples, in the BLAS, in what does its work in its place, and in waiting; empty where they
// are too few.
std::vector<report::TimeShare> time_shares(const report::BlasEvidence& evidence,
                                           const ProviderAtWork& work,
                                           std::optional<double> waiting_share = {});

// Of the loss, in the words that end the first sentence; empty where there is none.
std::vector<std::string> findings(const report::BlasEvidence& evidence, const ProviderAtWork& work,
                                  const std::string& loss, const Thresholds& thresholds);
// number_findings.cpp: of denormal numbers that are many and not known to be free, and of NaN.
std::vector<std::string> number_findings(const report::BlasEvidence& evidence);
// fault_findings.cpp: of the samples, in page faults; and the sentence, empty where they cost
// little, or where their number does not fit to their time.
double fault_share(const report::Executed& executed);
std::string fault_finding(const RunEvidence& run);
// memory_findings.cpp: why large areas lie in small pages, where a setting would change that,
// without a full stop; and the sentence on memory and threads on different NUMA nodes. Else empty.
std::string huge_page_words(const report::LargeMemory& memory);
std::string node_finding(const report::LargeMemory& memory);

}  // namespace hwprof::blas
