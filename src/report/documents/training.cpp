// Training in words and tables: how it went epoch by epoch, and where the time and the page faults
// were.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

std::string samples_per_second(double value) { return fmt::format("{} samples/s", si(value, "")); }

const TrainingRun* fastest_run(const Training& training) {
  const TrainingRun* fastest = nullptr;
  for (const TrainingRun& run : training.runs) {
    if (!run.samples_per_s) continue;
    if (fastest == nullptr || *run.samples_per_s > *fastest->samples_per_s) fastest = &run;
  }
  return fastest;
}

}  // namespace

std::string training_headline(const Training& training) {
  const TrainingRun* run = fastest_run(training);
  if (run == nullptr) return "No epoch was finished.";
  std::string text =
      fmt::format("{} trains {}", run->variant, samples_per_second(*run->samples_per_s));
  for (const TrainingRun& other : training.runs) {
    if (&other == run || !other.samples_per_s) continue;
    text += fmt::format(" ({}: {})", other.variant, si(*other.samples_per_s, ""));
  }
  text += fmt::format("; {} of the held-out images right after {}.",
                      percent(run->epochs.back().accuracy), counted(run->epochs.size(), "epoch"));
  const auto most = std::max_element(
      run->phases.begin(), run->phases.end(),
      [](const TrainingPhase& a, const TrainingPhase& b) { return a.total_ns < b.total_ns; });
  if (most != run->phases.end() && most->share) {
    text += fmt::format(" Most time: {}, {}.", most->name, percent(*most->share));
  }
  return text;
}

std::vector<Field> training_fields(const Training& training) {
  return {{"Images", fmt::format("{} to learn from: {}; {} held out: {}", training.train_images,
                                 training.images, training.held_out_images, training.held_out)},
          {"Training",
           fmt::format("{} asked for, {} a step, SGD with learning rate {}, weight decay {}",
                       counted(static_cast<std::uint64_t>(training.epochs), "epoch"),
                       counted(training.batch, "image"), training.learning_rate,
                       training.weight_decay)}};
}

Table epochs_table(const Training& training) {
  Table table{.title = "Training",
              .columns = {{"epoch", true}, {"loss"}, {"accuracy,\n% of held-out"}, {"samples/s"}},
              .rows = {},
              .notes = {},
              .groups = "variant"};
  Reasons reasons;
  for (const TrainingRun& run : training.runs) {
    if (!run.reason.empty()) reasons.add(run.reason, run.variant);
    for (const Epoch& epoch : run.epochs) {
      table.rows.push_back({run.variant,
                            {fmt::format("{}", epoch.number), significant(epoch.loss, 4),
                             in_percent(epoch.accuracy), si(epoch.samples_per_s, "")}});
    }
  }
  if (!table.rows.empty()) {
    table.notes.push_back(
        "loss: mean over the images, each before the step that it takes part in; samples/s: "
        "without the accuracy, but with the regions' own time.");
  }
  append(table.notes, reasons.sentences());
  table.brief = reasons.sentences();
  return table;
}

Table phases_table(const Training& training) {
  Table table{.title = "Where the time goes",
              .columns = {{"phase", true},
                          {"% of\ntraining"},
                          {"time"},
                          {"calls"},
                          {"GFLOP/s"},
                          {"% of\nFMA peak"}},
              .rows = {},
              .notes = {},
              .groups = "variant"};
  Reasons reasons;
  const std::string dash(kAbsent);
  // An event that nothing was counted of has a reason, and no column.
  std::vector<std::string> events;
  const auto look_at = [&](const TrainingPhase& phase) {
    for (const EventCount& count : phase.counters) {
      if (!count.total) reasons.add(given(count.reason), count.name);
      if (!count.total || std::find(events.begin(), events.end(), count.name) != events.end()) {
        continue;
      }
      events.push_back(count.name);
    }
  };
  look_at(training.load);
  for (const TrainingRun& run : training.runs) {
    for (const TrainingPhase& phase : run.phases) look_at(phase);
  }
  for (std::string event : events) {
    std::replace(event.begin(), event.end(), '-', '\n');
    table.columns.push_back({event, false, true});
  }
  table.columns.push_back({"time\na call", false, true});

  const auto add = [&](const std::string& group, const TrainingPhase& phase) {
    TableRow row{
        group,
        {phase.name, phase.share ? in_percent(*phase.share) : dash, duration(phase.total_ns),
         fmt::format("{}", phase.calls), phase.gflops ? significant(*phase.gflops, 3) : dash,
         phase.peak_fraction ? in_percent(*phase.peak_fraction) : dash}};
    for (const std::string& event : events) {
      const auto at = std::find_if(phase.counters.begin(), phase.counters.end(),
                                   [&](const EventCount& count) { return count.name == event; });
      const bool has = at != phase.counters.end() && at->total;
      row.cells.push_back(!has               ? dash
                          : at->unit == "ns" ? duration(*at->total)
                                             : si(*at->total, ""));
    }
    row.cells.push_back(
        phase.calls == 0 ? dash : duration(phase.total_ns / static_cast<double>(phase.calls)));
    table.rows.push_back(std::move(row));
  };
  add("before training", training.load);
  for (const TrainingRun& run : training.runs) {
    for (const TrainingPhase& phase : run.phases) add(run.variant, phase);
  }
  append(table.notes, training.notes);
  append(table.notes, reasons.sentences());
  return table;
}

}  // namespace hwprof::report
