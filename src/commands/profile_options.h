// What `hwprof profile` was asked to do: plain data, checked by the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/model/output.h"
#include "src/model/regions_record.h"
#include "src/workloads/inputs/batch.h"
#include "src/workloads/inputs/documents.h"

namespace hwprof {

// Sizes that the user gave with --shape; absent ones have the course's values.
struct ShapeOptions {
  std::vector<std::size_t> filter_sizes{2};
  std::optional<std::size_t> d_e;  // 300, or what the embedding file has
  std::size_t d_c = 128;
  std::optional<std::size_t> n;  // words of every document
  std::size_t l = 103;
  std::size_t batch = 64;
};

// Of the workload mlp.
struct MlpOptions {
  std::optional<std::string> images, labels, test_images, test_labels;
  std::size_t batch = 100;
  int epochs = 10;
};

struct ProfileOptions {
  std::string workload = "textcnn";
  std::vector<std::string> given;   // long names of the options that were typed
  CpuList pin;                      // empty: where the process may run
  std::vector<std::string> events;  // empty: the default list
  std::optional<std::string> docs, embed;
  DocsFormat docs_format = DocsFormat::kAuto;
  Padding padding = Padding::kOwn;
  ShapeOptions shape;
  MlpOptions mlp;
  std::vector<std::string> variants;  // empty: all
  std::string against;                // another table of layers; empty: none
  std::vector<int> threads;           // each in turn; empty: one for each CPU it may use
  std::string isa;                    // cap of the hand-written kernels; empty: none
  std::string blas;                   // path or soname; empty: what programs get
  bool ladder = true;
  std::optional<std::uint64_t> loops;  // calls a slice; absent: as many as fill it
  std::optional<std::size_t> repeat;   // slices a row; absent: until the intervals are narrow
  double time_budget_s = 10;
  unsigned passes = 0;  // at most; 0: as many as needed
  std::uint64_t seed = 0;
  report::RegionView region_view;
  std::string trace;            // file; empty: no trace
  std::size_t trace_calls = 0;  // that it keeps; 0: the library's default
  std::string regions_csv;      // file for the table of regions; empty: none
  bool overhead = false;        // measure what watching costs
  Output output;
  bool require_optimal_blas = false, require_counters = false;
  bool quiet = false;
  std::vector<std::string> command;  // as typed, for the report
};

}  // namespace hwprof
