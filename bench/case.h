// What a benchmark is: a shape, how much work it is, and everybody who can do it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/onednn.h"
#include "bench/torch_child.h"
#include "kernels/blas_library.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/measure/schedule.h"
#include "src/workloads/operations/operation.h"

namespace hwprof::bench {

struct NamedBlas {
  std::string name;  // "openblas"
  BlasLibrary library;
};

struct Peers {
  std::vector<NamedBlas> blas;
  TorchChild torch;
  std::string torch_gone;  // why, once it has
};

struct Contestant {
  std::string name;
  Part part;
};

// What a row of a profile says of the same work, so that `hwprof report` finds the row that peers
// belong beside (src/commands/report/bench_file.h).
struct RowOfWork {
  Cost cost;    // by the model, which counts bias and normalisation too
  Sizes sizes;  // under each name that some row has for them
};

// The first contestant is ours.
struct Prepared {
  double flops = 0;  // of the products: what rates here are made of
  RowOfWork row;
  std::vector<Contestant> contestants;
  std::vector<std::string> absent;  // "pytorch: No module named 'torch'"
  // Resident memory that ours took beyond its operands at its first call; an upper bound, since
  // pages of code count.
  std::optional<double> extra_kib;
  std::shared_ptr<void> keep;  // what the calls work on
};

struct Case {
  // Up to the first "/" the operation, as rows have it: "conv1d-maxpool/k:2/n:124/d_e:300/..."
  std::string name;
  std::string isa;  // cap of our kernels, and the peak to compare with; "": none
  std::function<Result<Prepared>(Peers&)> prepare;
};

// All of them, in the order of the table.
std::vector<Case> all_cases();
void add_text_cnn_cases(std::vector<Case>& cases);
void add_resnet20_cases(std::vector<Case>& cases);

inline constexpr double kLargestError = 1e-4;  // of ours, to double precision

// The caller alone.
ThreadTeam& one_thread();

// The operations of a case, and what they share.
struct Layer {
  LayerMemory memory{};
  std::deque<Operation> operations{};
  std::vector<std::size_t> row_start{};

  // `input`: where it does not read the layer's own.
  Result<const Operation*> add(const OperationSpec& spec, const BlasLibrary* blas,
                               std::span<const std::span<const float>> input = {}) {
    const bool own = input.empty();
    Result<Operation> made = Operation::create(spec, input, blas, "no BLAS", one_thread(),
                                               {.memory = own ? &memory : nullptr});
    if (!made) return error_of(made);
    return &operations.emplace_back(*std::move(made));
  }

  [[nodiscard]] const float* floats(std::string_view name) const {
    return memory.floats.find(name)->second.data();
  }
};

// Largest resident set since the last call, in KiB, and starts anew.
std::optional<double> take_peak_resident_kib();

// Runs ours for the first time, and notes its extra memory.
void add_ours(Prepared& prepared, std::string name, std::function<void()> call);
// The same for an operation, held against double precision.
Result<void> start_with_ours(Prepared& prepared, const std::string& name, const Operation& ours);
// Adds a peer if its output, after a call, is what ours is.
void add_peer(Prepared& prepared, const std::string& name, std::function<void()> call,
              const std::function<std::vector<float>()>& output, std::span<const float> expected);
void add_absent(Prepared& prepared, const std::string& name, const Error& error);
void add_onednn(Prepared& prepared, const Result<OnednnWork>& work,
                std::span<const float> expected);
// `spec`: the work as bench/torch_rows.py reads it.
void add_torch(Prepared& prepared, Peers& peers, const std::string& spec);

}  // namespace hwprof::bench
