// How fast others do the work of a profile's rows, as bench/ measured it in another run: points
// beside the rows on the roofline. Part of record.h, with its rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

struct Peer {
  std::string name;  // "onednn", "openblas-gemm"
  std::string file;  // that it was read from
  std::string op;
  std::vector<std::pair<std::string, std::uint64_t>> shape;  // as the row of the same work has it
  int threads = 1;
  double time_ns = 0;  // of one call, median
  std::optional<double> time_low_ns, time_high_ns;
  double flops = 0, bytes = 0;  // of one call, by the model of the row
  double gflops = 0;
  std::optional<double> gflops_low, gflops_high;
  double intensity = 0;  // FLOP / byte
};

struct Peers {
  std::vector<Peer> points;
  std::vector<std::string> left_out;  // a sentence each: what of a file is not there, and why
};

template <>
const Record& record<Peer>();
template <>
const Record& record<Peers>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::Peer, model::Peers;
}  // namespace hwprof::report
