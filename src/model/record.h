// What a run found out, as plain structs with the unit in each name. Commands fill it, writers
// turn it into bytes; nothing here computes or measures. An absent number has its reason beside it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/blas.h"
#include "src/model/layers_record.h"
#include "src/model/machine.h"
#include "src/model/peers_record.h"
#include "src/model/regions_record.h"
#include "src/model/row.h"
#include "src/model/scaling_record.h"
#include "src/model/training_record.h"

namespace hwprof::model {

// Another process that ran where work was measured.
struct CpuUser {
  int pid = 0;
  std::string name;
  double share = 0;  // of one CPU, while work was measured
};

struct Pin {
  CpuList requested;  // empty: --pin was not given
  CpuList actual;     // CPUs on which the process may run
  // Times a second that measured code had to yield its CPU to another program; absent before the
  // run.
  std::optional<double> involuntary_switches_per_s;
  std::optional<double> on_cpu;  // share of the measured wall time in which work ran
  std::vector<CpuUser> others;   // that took most of the rest
  // Of the calling thread: measured slices after which it was on another CPU than before.
  std::uint64_t migrations = 0;  // times that a measured slice ended on another CPU than it began
};

// Bandwidth of one core or of all pinned CPUs together, as `threads` in Peak says.
struct Bandwidth {
  std::string level;                                 // "L1", "L2", "L3", "memory"; "" of a size
  std::uint64_t working_set_bytes = 0;               // a thread
  double read_gbs = 0, copy_gbs = 0, triad_gbs = 0;  // 1e9 bytes a second
  double capacity_bytes = 0;  // of all instances that the threads use; 0: unlimited (memory)
};

struct Peak {
  double f32_gflops = 0;  // best of by_isa, measured, median
  std::string isa;        // where it was reached
  int threads = 1;
  std::vector<std::pair<std::string, double>> by_isa;  // "scalar", "sse", "avx2", "avx512" | "neon"
  std::vector<Bandwidth> bandwidth;                    // fastest first
  std::vector<Bandwidth> bandwidth_by_size;            // smallest arrays first; no level named
};

struct ComplexityRow {
  std::string op;
  double cost_units = 0;
  double model_share = 0;                // by the course's cost units
  std::optional<double> roofline_share;  // by roofline time; absent without a peak
  std::optional<double> time_share;      // measured
  std::optional<double> ceiling_factor;  // measured time over roofline time
};

// An optimised variant that takes several times its roofline time.
struct FarVariant {
  std::string op, variant;
  std::vector<std::pair<std::string, std::uint64_t>> shape;
  double time_ns = 0;
  double factor = 0;                // time over roofline time
  std::vector<std::string> causes;  // measured; empty: none was
};

struct Complexity {
  std::optional<bool> agrees;  // absent: not enough was measured, see `text`
  std::string pass;            // forward pass that the shares are of
  std::vector<ComplexityRow> rows;
  std::vector<std::string> findings;  // one sentence each; empty when it agrees
  std::vector<FarVariant> far;        // of all passes: no part of the verdict
  std::string text;                   // the verdict in words
};

// The variants that make up one forward pass.
struct PassVariants {
  std::string name;
  std::vector<std::pair<std::string, std::string>> variants;  // op -> variant

  [[nodiscard]] bool has(const std::string& op, const std::string& variant) const {
    return std::find(variants.begin(), variants.end(), std::pair(op, variant)) != variants.end();
  }
};

// One all of whose layers were measured.
struct ForwardPass : PassVariants {
  double time_ns = 0;  // sum of the layers' medians
  // Sums of the ends of their intervals: where their sum lies at the widest.
  std::optional<double> low_ns, high_ns;
};

// The one with the shortest time, and all whose intervals reach into its own: those cannot be told
// apart from it. One without an interval may be off by a factor of two. Fastest first; empty: there
// are no passes.
std::vector<ForwardPass> fastest_passes(std::vector<ForwardPass> passes);

// One pass on one number of threads.
struct ThreadedPass {
  std::string name;
  int threads = 1;
  double time_ns = 0;   // sum of the medians
  double speedup = 1;   // of the sums, against the fewest threads
  bool faster = false;  // than on the fewest by the whole interval
};
// The shortest of all; absent where no pass has a time for each of its rows.
std::optional<ThreadedPass> fastest_threaded_pass(const Scaling& scaling,
                                                  const std::vector<ForwardPass>& passes);

enum class Padding { kOwn, kBatch };

template <>
struct EnumNames<Padding> {
  static constexpr EnumName<Padding> kAll[] = {
      {Padding::kOwn, "own", "each document at its own length"},
      {Padding::kBatch, "batch",
       "all as long as the longest of the batch, as PyTorch programs have it"},
  };
};

struct Workload {
  std::string name = "textcnn";
  std::string documents;  // where they come from, in words
  std::string embedding;  // the same for the vectors
  Padding padding = Padding::kOwn;
  std::vector<std::pair<std::string, std::string>> shape;  // "k" -> "2+4+8"
  std::uint64_t layers = 0;                                // of a network, which has no documents
  std::uint64_t documents_used = 0, documents_total = 0;
  std::uint64_t short_documents = 0;  // padded with zeros to k
  double mean_length = 0;
  std::uint64_t min_length = 0, max_length = 0;  // words
  double padding_factor = 1;        // convolution positions executed / positions of own length
  double batch_padding_factor = 1;  // what padding to the longest of the batch would cost
};

struct Warning {
  std::string code;  // "oversubscribed"
  std::string text;
};

struct Profile {
  std::string version;
  std::vector<std::string> command;
  std::string started_utc;  // ISO 8601
  double elapsed_s = 0;
  bool partial = false;  // interrupted: what was measured so far
  Machine machine;
  Pin pin;
  int threads = 1;
  std::string simd_target;  // what Highway dispatched to: "AVX3"
  Workload workload;
  std::optional<Peak> peak;
  std::string peak_reason;  // why there is no peak
  ProfileBlas blas;
  std::vector<Row> rows;
  std::vector<ForwardPass> passes;
  Complexity complexity;
  std::optional<Layers> layers;      // of a network of layers
  std::optional<Training> training;  // of a workload that learns
  std::optional<Regions> regions;
  std::optional<Scaling> scaling;  // absent: one number of threads
  // Of passes of their own, after all else was measured; absent: not asked for.
  std::optional<report::Executed> executed;
  std::optional<Peers> peers;  // absent: `hwprof report` was given none
  std::vector<Warning> warnings;
};

template <>
const Record& record<CpuUser>();
template <>
const Record& record<Pin>();
template <>
const Record& record<Bandwidth>();
template <>
const Record& record<Peak>();
template <>
const Record& record<ComplexityRow>();
template <>
const Record& record<FarVariant>();
template <>
const Record& record<Complexity>();
template <>
const Record& record<ForwardPass>();
template <>
const Record& record<Workload>();
template <>
const Record& record<Warning>();
template <>
const Record& record<Profile>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::CpuUser, model::Pin, model::Bandwidth, model::Peak, model::ComplexityRow,
    model::FarVariant, model::Complexity, model::PassVariants, model::ForwardPass,
    model::fastest_passes, model::ThreadedPass, model::fastest_threaded_pass, model::Workload,
    model::Warning, model::Profile;
}  // namespace hwprof::report

namespace hwprof {
using model::Padding;
}  // namespace hwprof
