// The MLP that learns digits: the training loop in each variant, where its time and its page faults
// go, and the products of one step against peak and roofline.
#include "src/workloads/mlp/mlp.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "counters/regions/region.h"
#include "counters/regions/region_report.h"
#include "counters/regions/region_runtime.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile/profile.h"
#include "src/commands/profile/regions.h"
#include "src/measure/agreement.h"
#include "src/measure/statistics.h"
#include "src/workloads/inputs/image_set.h"
#include "src/workloads/mlp/mlp_training.h"

namespace hwprof {
namespace {

constexpr std::size_t kGeneratedImages = 12000;
constexpr std::size_t kHeldOutPart = 6;  // the last sixth, as 10,000 of MNIST's 60,000
constexpr double kTrainingShare = 0.6;   // of the time that is left; the rest is for the rows
constexpr const char* kRegionEvents[] = {"page-faults", "context-switches"};

// The phases of training out of the regions that the loop went through (mlp_training.h). The
// command itself makes one around the images' coming and one around each variant's training.
constexpr const char* kLoadRegion = "load";

using Path = std::vector<std::string>;

const RegionRow* find(const RegionReport& regions, const Path& path) {
  const auto at = std::find_if(regions.rows.begin(), regions.rows.end(),
                               [&](const RegionRow& row) { return row.path == path; });
  return at == regions.rows.end() ? nullptr : &*at;
}

report::TrainingPhase phase_of(const RegionReport& regions, const RegionRow& row,
                               const RegionRow* whole) {
  report::TrainingPhase phase;
  phase.name = row.name;
  phase.calls = row.calls;
  phase.total_ns = row.total_ns.value_or(0);
  if (whole != nullptr && whole->total_ns.value_or(0) > 0) {
    phase.share = phase.total_ns / *whole->total_ns;
  }
  phase.flops = row.flops;
  phase.gflops = row.gflops;
  for (std::size_t i = 0; i < row.counts.size(); ++i) {
    const report::RegionCount& event = row.counts[i];
    EventCount count = regions.events[i];  // its name and what it became
    count.status = event.status;
    count.coverage = row.raw[i].coverage;
    count.calls = static_cast<double>(row.counted_calls);
    if (event.total) {
      count.total = event.total;
      if (row.counted_calls > 0) count.value = *count.total / count.calls;
    } else {
      count.reason = event.reason;
    }
    phase.counters.push_back(std::move(count));
  }
  return phase;
}

std::string training_region(const std::string& variant) { return "train " + variant; }

report::TrainingPhase load_phase(const RegionReport& regions) {
  const RegionRow* row = find(regions, {kLoadRegion});
  return row == nullptr ? report::TrainingPhase{} : phase_of(regions, *row, nullptr);
}

// data, forward, backward, update and accuracy of one variant; empty where it did not run.
std::vector<report::TrainingPhase> training_phases(const RegionReport& regions,
                                                   const std::string& variant) {
  const std::string top = training_region(variant);
  const RegionRow* whole = find(regions, {top});
  std::vector<report::TrainingPhase> phases;
  for (const Path& below : {Path{"step", "data"}, Path{"step", "forward"}, Path{"step", "backward"},
                            Path{"step", "update"}, Path{"accuracy"}}) {
    Path path = {top, "epoch"};
    path.insert(path.end(), below.begin(), below.end());
    const RegionRow* row = find(regions, path);
    if (row != nullptr) phases.push_back(phase_of(regions, *row, whole));
  }
  return phases;
}

struct Images {
  ImageSet train, held_out;
};

Result<std::vector<std::string>> variants_of(const MlpOptions& options) {
  const auto known = mlp_variants();
  for (const std::string& name : options.variants) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return usage_error(fmt::format("unknown variant '{}' of mlp", name),
                       fmt::format("known: {}", fmt::join(known, ", ")));
  }
  // The reference takes its time, and is in nobody's way unless asked for.
  if (options.variants.empty()) return std::vector<std::string>{"simd", "blas"};
  return options.variants;
}

std::vector<std::string> region_events(const std::vector<std::string>& asked) {
  std::vector<std::string> events(std::begin(kRegionEvents), std::end(kRegionEvents));
  for (const std::string& event : asked) {
    if (std::find(events.begin(), events.end(), event) == events.end()) events.push_back(event);
  }
  return events;
}

Result<Images> load_images(const MlpOptions& mlp, std::uint64_t seed) {
  const Region region(kLoadRegion);
  Images images;
  if (mlp.images) {
    Result<ImageSet> read = read_idx(*mlp.images, *mlp.labels);
    if (!read) return error_of(read);
    images.train = *std::move(read);
  } else {
    images.train = generate_digits(kGeneratedImages, seed);
  }
  if (mlp.test_images) {
    Result<ImageSet> read = read_idx(*mlp.test_images, *mlp.test_labels);
    if (!read) return error_of(read);
    images.held_out = *std::move(read);
    const ImageSet &a = images.train, &b = images.held_out;
    if (a.height == b.height && a.width == b.width) return images;
    return usage_error(fmt::format("the images of {} are {} x {} pixels, those of {} {} x {}",
                                   a.source, a.height, a.width, b.source, b.height, b.width),
                       "give images of one size to learn from and to judge by");
  }
  const std::size_t held_out = images.train.size() / kHeldOutPart;
  if (held_out == 0) {
    return usage_error(fmt::format("{} holds {} images: too few to hold out a sixth of them",
                                   images.train.source, images.train.size()),
                       "give more, or --test-images and --test-labels");
  }
  images.held_out = images.train.split_off(held_out);
  images.held_out.source = "the last sixth";
  return images;
}

report::Training describe(const Images& images, const MlpShape& shape, const Sgd& sgd,
                          const MlpOptions& options) {
  report::Training training;
  training.images = images.train.source;
  training.held_out = images.held_out.source;
  training.train_images = images.train.size();
  training.held_out_images = images.held_out.size();
  training.widths.assign(shape.widths.begin(), shape.widths.end());
  training.batch = shape.batch;
  training.epochs = options.epochs;
  training.learning_rate = sgd.learning_rate;
  training.weight_decay = sgd.weight_decay;
  return training;
}

// Until the epochs are made, the time is up at the end of an epoch, or Ctrl-C.
report::TrainingRun train(Mlp& mlp, const std::string& variant, const Images& images,
                          const Sgd& sgd, double budget_s, double progress_until, int epochs,
                          ProfileSession& session) {
  const Region region(training_region(variant));
  const std::vector<std::uint32_t> order = training_order(images.train, session.options.seed);
  const double begin_s = session.seconds();
  report::TrainingRun run;
  run.variant = variant;
  std::vector<double> rates;
  while (static_cast<int>(run.epochs.size()) < epochs) {
    const int number = static_cast<int>(run.epochs.size()) + 1;
    session.progress->show("training " + variant, static_cast<double>(number - 1) / epochs,
                           progress_until);
    const EpochResult epoch =
        train_epoch(mlp, images.train, order, images.held_out, sgd, interrupted());
    if (!epoch.whole) {
      run.reason = fmt::format("interrupted in epoch {} of {}", number, epochs);
      break;
    }
    rates.push_back(static_cast<double>(images.train.size()) / epoch.train_s);
    run.epochs.push_back({.number = number,
                          .loss = epoch.loss,
                          .accuracy = epoch.accuracy,
                          .samples_per_s = rates.back()});
    if (number < epochs && session.seconds() - begin_s >= budget_s) {
      run.reason = fmt::format(
          "stopped after {} of {} epochs: its part of --time-budget {} s, "
          "{:.1f} s, was used up",
          number, epochs, session.options.budget.seconds, budget_s);
      break;
    }
  }
  if (!rates.empty()) run.samples_per_s = median(rates);
  return run;
}

void add_phases(report::Training& training, const report::Profile& record) {
  RegionRuntime& runtime = RegionRuntime::instance();
  const RegionReport regions = make_region_report(runtime.setup(), runtime.totals());
  training.load = load_phase(regions);
  for (report::TrainingRun& run : training.runs) {
    run.phases = training_phases(regions, run.variant);
    for (report::TrainingPhase& phase : run.phases) {
      if (phase.gflops) phase.peak_fraction = *phase.gflops / record.peak->f32_gflops;
    }
  }
  training.notes = regions.notes;
  const bool packs = std::any_of(training.runs.begin(), training.runs.end(),
                                 [](const auto& run) { return run.variant == "simd"; });
  if (packs) {
    training.notes.emplace_back(
        "forward of simd packs its weights in every step, since the step before changed them.");
  }
  if (record.threads > 1) {
    training.notes.push_back(
        "events of the phases are those of the thread that trains, not of "
        "the threads that help it.");
  }
}

}  // namespace

Result<void> profile_workload(ProfileSession& session, const MlpOptions& options) {
  // 1. What the user can get wrong, before anything takes time.
  const Result<std::vector<std::string>> variants = variants_of(options);
  if (!variants) return error_of(variants);
  report::Profile& record = session.record;
  const RegionOptions& region_options = session.options.regions;
  auto started = start_regions(region_options, region_events(session.options.machine.events));
  if (!started) return error_of(started);

  // 2. The images.
  const Result<Images> images = load_images(options, session.options.seed);
  if (!images) return error_of(images);
  MlpShape shape;
  shape.widths.front() = images->train.image_pixels();
  shape.batch = std::min(options.batch, images->train.size());
  const Sgd sgd;
  record.training = describe(*images, shape, sgd, options);
  record.workload.name = "mlp";
  record.workload.shape = {{"widths", fmt::format("{}", fmt::join(shape.widths, "-"))},
                           {"batch", std::to_string(shape.batch)}};
  spdlog::info("{} images to learn from, {} held out", images->train.size(),
               images->held_out.size());

  // 3. BLAS, threads, ceilings, verdict.
  if (auto done = session.set_up(); !done) return error_of(done);

  // 4. Training, a variant after the other: a network that has learnt cannot be trained again.
  std::vector<Mlp> networks;
  double training_s = kTrainingShare * session.seconds_left();
  for (std::size_t i = 0; i < variants->size(); ++i) {
    const std::string& variant = (*variants)[i];
    if (mlp_needs_blas(variant) && session.library() == nullptr) {
      report::TrainingRun& run = record.training->runs.emplace_back();
      run.variant = variant;
      run.reason = session.blas.reason;
      continue;
    }
    Result<Mlp> mlp =
        Mlp::create(shape, variant, session.library(), session.team(), session.options.seed);
    if (!mlp) return error_of(mlp);
    const double begin_s = session.seconds();
    const double part_s = training_s / static_cast<double>(variants->size() - i);
    const double until =
        kCheckedProgress + kTrainingShare * (kMeasuredProgress - kCheckedProgress) *
                               static_cast<double>(i + 1) / static_cast<double>(variants->size());
    record.training->runs.push_back(
        train(*mlp, variant, *images, sgd, part_s, until, options.epochs, session));
    training_s = std::max(0.0, training_s - (session.seconds() - begin_s));
    networks.push_back(*std::move(mlp));
  }

  // 5. The products of a step, alone.
  std::vector<Task> tasks;
  for (Mlp& network : networks) {
    for (Task& task : network.tasks()) tasks.push_back(std::move(task));
  }
  if (auto done = session.measure(
          tasks, {.checked_documents = shape.batch, .repeat = session.options.budget.repeat});
      !done) {
    return error_of(done);
  }
  record.passes = forward_passes(record.rows, mlp_passes());
  set_forward_shares(record.rows, record.passes);
  add_phases(*record.training, record);
  Result<report::Regions> regions =
      collect_regions(region_options, "the training, variant after variant");
  if (!regions) return error_of(regions);
  if (!tasks.empty()) {
    std::vector<const Task*> products;
    for (const Task& task : tasks) products.push_back(&task);
    const RegionTasks step("step", products);
    const RegionPasses passes = step.passes("the products of a step");
    if (region_options.overhead) regions->overhead = measure_overhead(passes, interrupted());
    sample_passes(session, passes);
  }
  record.regions = *std::move(regions);
  return {};
}

}  // namespace hwprof
