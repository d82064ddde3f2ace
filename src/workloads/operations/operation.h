// One operation of the registry in one variant and one shape, with weights, output and, unless the
// output of another operation is its input, input of its own: what a sweep measures alone and a
// network of layers chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/blas_library.h"
#include "kernels/check.h"
#include "kernels/tensor.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/workloads/task.h"

namespace hwprof {

using Sizes = std::vector<std::pair<std::string, std::uint64_t>>;  // in the order to print

struct SizeParameter {
  std::string_view name;   // "d_c"
  std::uint64_t standard;  // of the text CNN or of ResNet20
  std::uint64_t least = 1, most = 0x7fffffff;
  bool of_input = false;  // follows from what the operation reads
};

struct OperationBuild;  // operation_build.h

struct OperationKind {
  std::string_view name;       // "conv2d"
  std::string_view type_name;  // "Convolution2DFunction": as Chainer's TimerHook has it
  std::span<const SizeParameter> sizes;
  std::vector<std::string_view> (*variants)();  // of the registry, the reference first
  void (*build)(OperationBuild& build);
};

std::span<const OperationKind> operation_kinds();
const OperationKind* find_operation(std::string_view name);

struct OperationSpec {
  std::string op, variant;
  Sizes sizes = {};        // those that are missing have their standard
  std::uint64_t seed = 0;  // of the weights, and of an input of its own
  // conv2d-bn-relu: of its normalisation, where that was a layer of its own; else `seed`. The same
  // seeds give the same weights as conv2d and batchnorm apart have.
  std::optional<std::uint64_t> normalisation_seed = {};
};

// The size of that name; one that is not there is a bug.
std::uint64_t size_of(const Sizes& sizes, std::string_view name);

// Tensors that it reads: 2 of add, and of conv2d-bn-relu with add=1; else 1.
std::size_t input_count(std::string_view op, const Sizes& sizes);

// All sizes of `spec` in the order of its kind. Fault::kUsage names an unknown operation, variant
// or size, one out of range, or sizes that do not fit together.
Result<Sizes> complete_sizes(const OperationSpec& spec);

// Bytes of an input of its own, weights (packed, too), outputs and scratch. Pure; nothing is
// allocated. `spec` has passed complete_sizes(). create() refuses more than the machine has.
double bytes_needed(const OperationSpec& spec, bool own_input = true);
Result<void> check_memory(const std::string& what, double bytes);
std::string in_gib(double bytes);

// What the variants of one layer share where all of them are there at once: weights and results by
// name, and what is expected of the documents that are checked.
struct LayerMemory {
  std::map<std::string, FloatBuffer, std::less<>> floats;
  std::map<std::string, std::vector<Expected>, std::less<>> expected;
};

// Where an operation stands in a network over documents of different length.
struct OperationPlace {
  // Where each document begins in the rows that it reads, or that the convolution before it read,
  // and where the last one ends; `n` is then the longest. Empty: `batch` documents of `n` rows.
  std::span<const std::size_t> row_start = {};
  // Of what pools: its result begins here, and a document's is so many floats behind that of the
  // one before, since it is some columns of a wider matrix. Empty: memory of its own.
  std::span<float> into = {};
  std::size_t stride = 0;
  LayerMemory* memory = nullptr;  // outlives the operation
};

class Operation {
 public:
  // `inputs`: outputs of other operations, which must outlive this one; empty: made up, uniform in
  // [-1, 1). `blas` may be null: a variant that needs it then has the reason `no_blas_reason`.
  static Result<Operation> create(const OperationSpec& spec,
                                  std::span<const std::span<const float>> inputs,
                                  const BlasLibrary* blas, const std::string& no_blas_reason,
                                  ThreadTeam& team, const OperationPlace& place = {});
  Operation(Operation&&) noexcept;
  Operation& operator=(Operation&&) noexcept;
  ~Operation();

  [[nodiscard]] const Task& task() const;  // its check() compares with double precision
  [[nodiscard]] std::span<const float> output() const;
  // The whole output in double precision, from what the inputs hold now: slow.
  [[nodiscard]] Expected expected() const;

 private:
  struct State;
  explicit Operation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hwprof
