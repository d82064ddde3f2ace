// A network with weights and memory, in one form: ready to be run whole or layer by layer.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/blas_library.h"
#include "kernels/tensor.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/workloads/networks/layer_graph.h"
#include "src/workloads/operations/operation.h"
#include "src/workloads/task.h"

namespace hwprof {

// How a network is run. The same weights in each.
struct NetForm {
  std::string_view name;
  std::string_view meaning;
  bool fused = false;
  // Of an operation's variants the first of these that it has.
  std::vector<std::string_view> preferred;
};

// "eager" first: each layer its own, by the fastest kernel.
const std::vector<NetForm>& net_forms();

class LayerNet {
 public:
  // `input`: as long as the network's. It and the arguments must outlive the net. `memory` gets the
  // weights and the result of each layer by name, for who runs the same network by other means.
  static Result<LayerNet> create(const Network& network, const NetForm& form,
                                 std::span<const float> input, const BlasLibrary* blas,
                                 const std::string& no_blas_reason, ThreadTeam& team,
                                 std::deque<LayerMemory>* memory = nullptr);

  [[nodiscard]] const NetForm& form() const { return *form_; }
  [[nodiscard]] const Network& network() const { return network_; }
  // In the order of execution, one a layer of network().
  [[nodiscard]] const std::vector<Operation>& layers() const { return layers_; }
  [[nodiscard]] std::span<const float> output() const { return layers_.back().output(); }
  // Why it cannot be run; empty: it can.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] Cost cost() const;
  void run() const;

  // What create() allocates.
  static double bytes_needed(const Network& network, const NetForm& form);

 private:
  const NetForm* form_ = nullptr;
  Network network_;
  std::vector<Operation> layers_;
  std::string reason_;
};

// Input of a network: uniform in [-1, 1), the same for a seed.
Result<FloatBuffer> network_input(const Network& network, std::uint64_t seed);

// The result of the network in double precision, each layer straight from its definition; between
// two layers the numbers are rounded to float.
Result<std::vector<double>> expected_output(const Network& network, std::span<const float> input,
                                            ThreadTeam& team);

// Largest |got - expected| over the largest |expected|.
double output_error(const std::vector<double>& expected, std::span<const float> got);

}  // namespace hwprof
