// What training a network found out: plain structs, as in src/model/record.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/machine.h"

namespace hwprof::model {

// One part of the loop, added up over all epochs.
struct TrainingPhase {
  std::string name;  // "data", "forward", "backward", "update", "accuracy"; "load"
  std::uint64_t calls = 0;
  double total_ns = 0;
  std::optional<double> share;                  // of the training of its variant; absent for "load"
  double flops = 0;                             // by the model, over all calls; 0: none
  std::optional<double> gflops, peak_fraction;  // absent without FLOP
  std::vector<EventCount> counters;             // of the thread that trains
};

struct Epoch {
  int number = 0;  // from 1
  double loss = 0, accuracy = 0;
  double samples_per_s = 0;  // of the steps, without the accuracy
};

struct TrainingRun {
  std::string variant;
  std::vector<Epoch> epochs;            // whole ones only
  std::vector<TrainingPhase> phases;    // in the order of the loop
  std::optional<double> samples_per_s;  // median of the epochs; absent: `reason`
  std::string reason;                   // why epochs are missing; empty: all were made
};

struct Training {
  std::string images, held_out;  // where they come from, in words
  std::uint64_t train_images = 0, held_out_images = 0;
  std::vector<std::uint64_t> widths;  // inputs first, classes last
  std::uint64_t batch = 0;
  int epochs = 0;  // asked for
  double learning_rate = 0, weight_decay = 0;
  TrainingPhase load;  // reading or generating the images, once
  std::vector<TrainingRun> runs;
  std::vector<std::string> notes;  // what a reader of the phases has to know
};

template <>
const Record& record<TrainingPhase>();
template <>
const Record& record<Epoch>();
template <>
const Record& record<TrainingRun>();
template <>
const Record& record<Training>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::TrainingPhase, model::Epoch, model::TrainingRun, model::Training;
}  // namespace hwprof::report
