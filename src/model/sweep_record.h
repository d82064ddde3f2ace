// What `hwprof sweep` found out: how time and FLOP grow with a size, beside what the complexity
// analysis says. Plain structs; commands fill them, writers turn them into bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/record.h"

namespace hwprof::model {

struct SweptSize {
  std::string name;  // "n"
  std::uint64_t low = 0, high = 0;
};

// One quantity against one size: quantity ~ size^exponent.
struct ScalingLaw {
  std::string quantity;  // "time", "flop", "exact-flop"
  std::string size;      // "n"
  std::string held;      // the other swept size: "k=8"; "joint": both fitted at once; else empty
  // Absent: `reason`.
  std::optional<double> exponent, low, high;  // with its 95 % interval
  std::optional<double> model_exponent;       // the same fit of the model over the same sizes
  std::uint64_t from = 0, to = 0;             // the sizes that were fitted
  std::size_t points = 0;                     // so many of them
  std::optional<bool> agrees;                 // absent: not judged, `text` says why
  std::string text;                           // the verdict in words
  std::vector<std::string> causes;            // of what does not agree, one sentence each
  std::string reason;                         // why there is no exponent
};

struct SweepPoint {
  std::vector<std::pair<std::string, std::uint64_t>> at;  // in the order of Sweep::swept
  double working_set_bytes = 0;                           // of the model
  std::string level;                                      // the fastest that holds it: "L2"
  // The model in units of time: cost units by the median time of a unit where the law agrees, else
  // over all points. Absent: nothing was measured.
  std::optional<double> model_ns;
  std::optional<double> time_to_model;  // median time over that
  Row row;                              // as any other operation
};

struct Sweep {
  Profile run;  // without rows: each point has its own
  std::string op, variant;
  std::string asked;                // the operation in the words of the user, where they are others
  std::optional<ProfileBlas> blas;  // of a variant that uses one
  std::vector<std::pair<std::string, std::uint64_t>> held;  // sizes that stay
  std::vector<SweptSize> swept;                             // one or two
  std::vector<SweepPoint> points;
  std::vector<ScalingLaw> laws;
  double tolerance = 0;        // of the exponent: within it of the model's agrees
  std::optional<bool> agrees;  // all of time, size by size; absent: not judged
  std::string text;            // the verdict in words
};

template <>
const Record& record<SweptSize>();
template <>
const Record& record<ScalingLaw>();
template <>
const Record& record<SweepPoint>();
template <>
const Record& record<Sweep>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::SweptSize, model::ScalingLaw, model::SweepPoint, model::Sweep;
}  // namespace hwprof::report
