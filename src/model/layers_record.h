// What a run of a network of layers found out. Part of record.h, with its rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/machine.h"
#include "src/model/row.h"

namespace hwprof::model {

struct LayerRow {
  std::size_t index = 0;
  std::string name;                   // of its type: "Convolution2DFunction"
  std::string label;                  // its own: "block4.conv1"
  std::vector<std::uint64_t> output;  // shape
  std::optional<double> share;        // of the sum of the layers
  bool far_above = false;             // longer than kFarAbove times the mean layer
  Row row;                            // as any other operation
};

inline constexpr double kFarAbove = 2;

// All layers of a type added up: the columns of Chainer's TimerHook.
struct LayerType {
  std::string name;
  double elapsed_ns = 0;  // an inference
  std::uint64_t occurrence = 0;
  double share = 0;
};

struct LayerForm {
  std::string name, meaning;           // "eager"
  std::string reason;                  // why it was not measured
  std::optional<TimeNs> whole_ns;      // the inference alone, between those timed by layer
  double sum_ns = 0;                   // of the layers of an inference: the median over those
  std::optional<double> sum_to_whole;  // sum / whole
  std::uint64_t inferences = 0;        // timed by layer; as many alone
  std::vector<LayerRow> layers;
  std::vector<LayerType> types;  // longest first
};

// Another table's times beside those of the first form.
struct AgainstRow {
  std::string name, label;
  double theirs_ns = 0;
  std::optional<double> ours_ns, ratio;  // theirs / ours: how many times faster ours is
};

struct Against {
  std::string file, form;
  std::vector<AgainstRow> layers, types;
  AgainstRow total;
};

struct Layers {
  double clock_ns = 0;              // of one reading of the clock: taken off each layer's time
  std::vector<EventCount> nothing;  // what counting counts when nothing is run
  std::vector<LayerForm> forms;
  std::optional<Against> against;
};

// What stands between the columns of a layer and those of its row.
std::span<const Field> form_columns();

template <>
const Record& record<LayerRow>();
template <>
const Record& record<LayerType>();
template <>
const Record& record<LayerForm>();
template <>
const Record& record<AgainstRow>();
template <>
const Record& record<Against>();
template <>
const Record& record<Layers>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::LayerRow, model::LayerType, model::LayerForm, model::AgainstRow, model::Against,
    model::Layers, model::kFarAbove;
}  // namespace hwprof::report
