// The key "training" of hwprof.profile/1 (docs/json.md).
#include "src/report/data/json_parts.h"

namespace hwprof::report {
namespace {

Json phase_json(const TrainingPhase& phase) {
  return {{"name", phase.name},
          {"calls", phase.calls},
          {"total_ns", number(phase.total_ns)},
          {"share", number(phase.share)},
          {"flops", number(phase.flops)},
          {"gflops", number(phase.gflops)},
          {"peak_fraction", number(phase.peak_fraction)},
          {"counters", counters_json(phase.counters)}};
}

Json run_json(const TrainingRun& run) {
  Json epochs = Json::array();
  for (const Epoch& epoch : run.epochs) {
    epochs.push_back({{"epoch", epoch.number},
                      {"loss", number(epoch.loss)},
                      {"accuracy", number(epoch.accuracy)},
                      {"samples_per_s", number(epoch.samples_per_s)}});
  }
  Json phases = Json::array();
  for (const TrainingPhase& phase : run.phases) phases.push_back(phase_json(phase));
  return {{"variant", run.variant},
          {"samples_per_s", number(run.samples_per_s)},
          {"reason", or_null(run.reason)},
          {"epochs", epochs},
          {"phases", phases}};
}

}  // namespace

Json training_json(const Training& training) {
  Json runs = Json::array();
  for (const TrainingRun& run : training.runs) runs.push_back(run_json(run));
  return {{"images", training.images},
          {"held_out", training.held_out},
          {"train_images", training.train_images},
          {"held_out_images", training.held_out_images},
          {"widths", training.widths},
          {"batch", training.batch},
          {"epochs", training.epochs},
          {"learning_rate", number(training.learning_rate)},
          {"weight_decay", number(training.weight_decay)},
          {"load", phase_json(training.load)},
          {"runs", runs},
          {"notes", training.notes}};
}

}  // namespace hwprof::report
