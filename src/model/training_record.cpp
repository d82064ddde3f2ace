#include "src/model/training_record.h"

namespace hwprof::model {

template <>
const Record& record<TrainingPhase>() {
  static constexpr Field kFields[] = {
      field<&TrainingPhase::name>("name", "",
                                  "`data`, `forward`, `backward`, `update`, `accuracy`; `load`")
          .column("phase"),
      field<&TrainingPhase::calls>("calls", "", "").column("phase_calls"),
      field<&TrainingPhase::total_ns>("total_ns", "ns", "over all epochs").column("phase_total_ns"),
      field<&TrainingPhase::share>("share", "", "of its variant's training; null for `load`")
          .column("phase_share"),
      field<&TrainingPhase::flops>("flops", "FLOP", "by the model, over all calls"),
      field<&TrainingPhase::gflops>("gflops", "GFLOP/s", "null without FLOP")
          .column("phase_gflops"),
      field<&TrainingPhase::peak_fraction>("peak_fraction", "", "null without FLOP")
          .column("phase_peak_fraction"),
      by_name<&TrainingPhase::counters, &EventCount::name>("counters", "",
                                                           "of the thread that trains"),
  };
  static constexpr Record kRecord{"Phase", "One part of the loop, added up over all epochs.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<Epoch>() {
  static constexpr Field kFields[] = {
      field<&Epoch::number>("epoch", "", "from 1").column("epoch"),
      field<&Epoch::loss>("loss", "", "").column("loss"),
      field<&Epoch::accuracy>("accuracy", "", "share of the held-out images").column("accuracy"),
      field<&Epoch::samples_per_s>("samples_per_s", "1/s", "of the steps, without the accuracy")
          .column("samples_per_s"),
  };
  static constexpr Record kRecord{"Epoch", "A whole one.", kFields};
  return kRecord;
}

template <>
const Record& record<TrainingRun>() {
  static constexpr Field kFields[] = {
      field<&TrainingRun::variant>("variant", "", ""),
      field<&TrainingRun::samples_per_s>("samples_per_s", "1/s",
                                         "median of the epochs; null: `reason`"),
      field<&TrainingRun::reason>("reason", "", "why epochs are missing").null_if_empty(),
      field<&TrainingRun::epochs>("epochs", "", "whole ones only"),
      field<&TrainingRun::phases>("phases", "", "in the order of the loop"),
  };
  static constexpr Record kRecord{"TrainingRun", "One variant's.", kFields};
  return kRecord;
}

template <>
const Record& record<Training>() {
  static constexpr Field kFields[] = {
      field<&Training::images>("images", "",
                               "where they come from: a file, `generated digits, seed 0`"),
      field<&Training::held_out>("held_out", "", "the same of those to judge by: `the last sixth`"),
      field<&Training::train_images>("train_images", "", ""),
      field<&Training::held_out_images>("held_out_images", "", ""),
      field<&Training::widths>("widths", "", "inputs first, classes last"),
      field<&Training::batch>("batch", "", "images a step"),
      field<&Training::epochs>("epochs", "", "asked for"),
      field<&Training::learning_rate>("learning_rate", "", ""),
      field<&Training::weight_decay>("weight_decay", "", ""),
      field<&Training::load>("load", "", "reading or making the images, once"),
      field<&Training::runs>("runs", "", "a variant each"),
      field<&Training::notes>("notes", "", "what to know about the phases"),
  };
  static constexpr Record kRecord{"Training", "What training a network came to.", kFields};
  return kRecord;
}

}  // namespace hwprof::model
