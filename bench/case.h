// What a benchmark is: a shape, how much work it is, and everybody who can do it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/rounds.h"
#include "bench/torch_child.h"
#include "kernels/blas_library.h"
#include "kernels/tensor.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"

namespace hwprof::bench {

struct NamedBlas {
  std::string name;  // "openblas"
  BlasLibrary library;
};

struct Peers {
  std::vector<NamedBlas> blas;
  TorchChild torch;
};

// The first contestant is ours.
struct Prepared {
  double flops = 0;
  std::vector<Contestant> contestants;
  std::vector<std::string> absent;  // "pytorch: No module named 'torch'"
  // Resident memory that ours took beyond its operands at its first call; an upper bound, since
  // pages of code count.
  std::optional<double> extra_kib;
  std::shared_ptr<void> keep;  // what the calls work on
};

struct Case {
  std::string name;  // "conv1d/k:2/n:124/d_e:300/d_c:128/batch:64"
  std::string isa;   // cap of our kernels, and the peak to compare with; "": none
  std::function<Result<Prepared>(Peers&)> prepare;
};

// All of them, in the order of the table.
std::vector<Case> all_cases();
void add_text_cnn_cases(std::vector<Case>& cases);
void add_resnet20_cases(std::vector<Case>& cases);

// The caller alone.
ThreadTeam& one_thread();

// Values in (-bound, bound), the same in every run.
Result<FloatBuffer> random_floats(std::size_t count, float bound);

// Largest resident set since the last call, in KiB, and starts anew.
std::optional<double> take_peak_resident_kib();

// Runs ours for the first time, and notes its extra memory.
void add_ours(Prepared& prepared, std::string name, std::function<void()> call);
// Adds a peer if its output, after a call, is what ours is.
void add_peer(Prepared& prepared, const std::string& name, std::function<void()> call,
              const std::function<std::vector<float>()>& output, std::span<const float> expected);
void add_absent(Prepared& prepared, const std::string& name, const Error& error);
// `spec`: the work as bench/torch_rows.py reads it.
void add_torch(Prepared& prepared, Peers& peers, const std::string& spec);

}  // namespace hwprof::bench
