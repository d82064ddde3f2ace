// The JSON of kernels_bench (bench/): what of it a profile can show beside its rows.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

struct BenchTime {
  std::string name;  // "onednn"
  double ns = 0;     // of one call, median
  std::optional<double> low_ns = {}, high_ns = {};
};

struct BenchCase {
  std::string op;  // as rows have it: "conv1d-maxpool"
  // Under each name that some row has for a size: a `linear` has `inputs` and `d_c`.
  std::vector<std::pair<std::string, std::uint64_t>> sizes = {};
  int threads = 1;
  double flops = 0, bytes = 0;        // of one call, by the model of rows
  std::string failure = {};           // why it was not measured
  std::vector<BenchTime> peers = {};  // ours is none: a profile measures it itself
};

struct BenchFile {
  std::string path, cpu;
  std::vector<BenchCase> cases = {};
};

// Written by Google Benchmark, be it by kernels_bench or by another program.
bool is_benchmark(const nlohmann::ordered_json& json);

// Fault::kUsage with the file's name: another program's, an unknown version of the keys, or a value
// of another kind; each number is finite and more than 0.
Result<BenchFile> read_bench(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace hwprof
