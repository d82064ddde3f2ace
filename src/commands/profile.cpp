#include "src/commands/profile.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "counters/counting.h"
#include "counters/suggest.h"
#include "kernels/registry.h"
#include "kernels/simd.h"
#include "src/blas/ladder.h"
#include "src/blas/verdict.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile_record.h"
#include "src/commands/progress.h"
#include "src/measure/agreement.h"
#include "src/measure/statistics.h"
#include "src/report/output.h"
#include "src/report/writers.h"
#include "src/workloads/synthetic.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kDefaultEvents[] = {
    "cycles", "instructions", "flops", "llc-miss", "task-clock", "context-switches", "page-faults"};
constexpr std::size_t kDefaultEmbedding = 300;  // glove.6B.300d

// Seconds of the budget that the steps before the interleaved run may leave it at least.
constexpr double kLeastRunSeconds = 1;

template <class T>
tl::unexpected<Error> error_of(const Result<T>& result) {
  return tl::make_unexpected(result.error());
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<void> check_variants(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = variant_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return usage_error(fmt::format("unknown variant '{}'", name),
                       fmt::format("known: {}", fmt::join(known, ", ")));
  }
  return {};
}

// The workload as it will be run: documents laid out in one matrix.
struct Input {
  DocumentSet documents;
  BatchShape shape;
  Embedding embedding;
  Batch batch;
};

Result<Input> load_input(const ProfileOptions& options) {
  Input input;
  const ShapeOptions& shape = options.shape;
  if (options.docs) {
    Result<DocumentSet> documents = read_documents(*options.docs, options.docs_format);
    if (!documents) return error_of(documents);
    input.documents = std::move(*documents);
  } else {
    input.documents =
        synthetic_documents({.documents = shape.batch, .n = shape.n, .seed = options.seed});
  }
  input.shape = {.filter_sizes = shape.filter_sizes,
                 .batch = shape.batch,
                 .padding = options.padding,
                 .n = shape.n};
  const auto words = words_of_batch(input.documents, input.shape);
  Result<Embedding> embedding =
      options.embed ? read_embedding(*options.embed, input.documents.vocabulary, words, shape.d_e)
                    : hash_embedding(input.documents.vocabulary, words,
                                     shape.d_e.value_or(kDefaultEmbedding));
  if (!embedding) return error_of(embedding);
  input.embedding = std::move(*embedding);
  Result<Batch> batch = build_batch(input.documents, input.shape, input.embedding);
  if (!batch) return error_of(batch);
  input.batch = std::move(*batch);
  return input;
}

report::Workload describe(const Input& input, const ProfileOptions& options) {
  const Batch& batch = input.batch;
  const PaddingCost cost = padding_cost(input.documents, input.shape);
  report::Workload workload;
  workload.documents = input.documents.source;
  workload.embedding = input.embedding.source;
  workload.padding = options.padding == Padding::kOwn ? "own" : "batch";
  workload.shape = {{"k", fmt::format("{}", fmt::join(options.shape.filter_sizes, "+"))},
                    {"d_e", std::to_string(batch.d_e)},
                    {"d_c", std::to_string(options.shape.d_c)},
                    {"l", std::to_string(options.shape.l)},
                    {"batch", std::to_string(batch.documents())}};
  workload.documents_used = batch.documents();
  workload.documents_total = input.documents.size();
  workload.short_documents = batch.short_documents;
  std::size_t words = 0;
  for (const std::size_t length : batch.own_length) words += length;
  workload.mean_length = static_cast<double>(words) / static_cast<double>(batch.documents());
  const auto [shortest, longest] =
      std::minmax_element(batch.own_length.begin(), batch.own_length.end());
  workload.min_length = *shortest;
  workload.max_length = *longest;
  workload.padding_factor = cost.as_laid_out;
  workload.batch_padding_factor = cost.to_longest;
  return workload;
}

// The BLAS as this process has it, told how many threads to use.
struct LoadedBlas {
  std::optional<BlasLibrary> library;
  std::optional<blas::Identity> identity;
  std::string reason;  // why there is none
  int threads = 1;
};

Result<LoadedBlas> load_blas(const std::string& wanted, int threads) {
  LoadedBlas loaded;
  Result<BlasLibrary> library = BlasLibrary::load(wanted);
  if (!library) {
    if (library.error().fault == Fault::kUsage) return error_of(library);
    loaded.reason = library.error().what;
    return loaded;
  }
  const bool told = library->set_threads(threads);
  loaded.identity = blas::identify(*library);
  loaded.threads = loaded.identity->threads.value_or(told ? threads : 1);
  loaded.library = std::move(*library);
  return loaded;
}

// An OpenMP build starts its threads at the first large product, with the affinity that the caller
// has then; so this comes before the caller is narrowed to one CPU.
void start_blas_threads(const BlasLibrary& library) {
  constexpr std::size_t kSize = 256;
  const std::vector<float> a(kSize * kSize, 1.0f);
  std::vector<float> c(kSize * kSize);
  library.sgemm(false, false, kSize, kSize, kSize, 1.0f, a.data(), kSize, a.data(), kSize, 0.0f,
                c.data(), kSize);
}

report::Peak measure_peak(const Machine& machine, ThreadTeam& team) {
  constexpr int kRounds = 5;
  constexpr double kSliceSeconds = 0.004;
  report::Peak peak;
  peak.threads = static_cast<int>(team.size());
  std::vector<std::vector<double>> rates(fma_kernels().size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      rates[i].push_back(team_peak_gflops(team, fma_kernels()[i], kSliceSeconds));
    }
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    peak.by_isa.emplace_back(fma_kernels()[i].isa, median(rates[i]));
  }
  const std::vector<LevelBandwidth> levels = cache_levels(machine, peak.threads);
  for (const BandwidthResult& result : measure_bandwidth(levels, machine.memory_bytes, team)) {
    peak.bandwidth.push_back({.level = result.level,
                              .working_set_bytes = result.working_set_bytes,
                              .read_gbs = result.read_gbs,
                              .copy_gbs = result.copy_gbs,
                              .triad_gbs = result.triad_gbs});
  }
  return peak;
}

// The peak that the rows were held against takes the place of the first look at it.
void settle_peak(report::Peak& peak, const std::vector<double>& slices) {
  peak.isa = fastest_fma_kernel().isa;
  for (auto& [isa, gflops] : peak.by_isa) {
    if (isa != peak.isa) continue;
    if (!slices.empty()) gflops = median(slices);
    peak.f32_gflops = gflops;
  }
}

report::Blas judge_blas(const LoadedBlas& loaded, const ProfileOptions& options,
                        const Machine& machine, const CpuList& cpus, double budget_s) {
  report::Blas record;
  record.environment = blas::blas_environment();
  record.requested = options.blas;
  const std::vector<blas::InstalledBlas> installed = blas::installed_blas();
  if (loaded.library) {
    record.provider = loaded.identity->provider;
    record.version = loaded.identity->version;
    record.path = loaded.library->path();
    record.core = loaded.identity->core;
    record.threading = loaded.identity->threading;
    record.threads = loaded.threads;
    if (options.ladder) {
      constexpr double kMaxSeconds = 2;
      const double seconds = std::min(kMaxSeconds, budget_s);
      blas::Ladder ladder = blas::climb(
          *loaded.library, *loaded.identity, installed, machine,
          {.budget = std::chrono::milliseconds(static_cast<int>(1000 * seconds)), .cpus = cpus});
      record.ladder = std::move(ladder.rungs);
      record.ladder_note = std::move(ladder.note);
    } else {
      record.ladder_note = "not measured (--no-ladder)";
    }
  }
  blas::Verdict verdict = blas::judge({.identity = loaded.identity,
                                       .path = record.path,
                                       .environment = record.environment,
                                       .ladder = record.ladder,
                                       .isa = machine.isa,
                                       .installed = installed,
                                       .pinned_cpus = cpus.size()});
  record.verdict = std::move(verdict.verdict);
  record.factor = verdict.factor;
  record.why = std::move(verdict.why);
  record.fix = std::move(verdict.fix);
  return record;
}

std::vector<PassVariants> pass_specs() {
  std::vector<PassVariants> specs;
  for (const ForwardPassSpec& pass : kForwardPasses) {
    PassVariants& spec = specs.emplace_back(PassVariants{std::string(pass.name), {}});
    for (const std::string_view op : kTextCnnOps) {
      spec.variants.emplace_back(std::string(op), std::string(pass.variant_of(op)));
    }
  }
  return specs;
}

void add_warnings(report::Profile& record, const ProfileOptions& options,
                  const RunnerOptions& runner) {
  const auto warn = [&record](std::string code, std::string text) {
    record.warnings.push_back({std::move(code), std::move(text)});
  };
  const auto cpus = static_cast<int>(record.pin.actual.size());
  if (record.threads > cpus || record.blas.threads.value_or(1) > cpus) {
    warn("oversubscribed",
         fmt::format("oversubscribed: {} runnable threads share {} CPU{}; times say little, use "
                     "--threads {} or pin more CPUs",
                     std::max(record.threads, record.blas.threads.value_or(1)), cpus,
                     cpus == 1 ? "" : "s", cpus));
  }
  if (record.workload.short_documents > 0) {
    warn("short-documents",
         fmt::format("{} of {} documents are shorter than the filter and were padded with zeros "
                     "to {} words",
                     record.workload.short_documents, record.workload.documents_used,
                     *std::max_element(options.shape.filter_sizes.begin(),
                                       options.shape.filter_sizes.end())));
  }
  if (record.pin.migrations > 0) {
    warn("migrated", fmt::format("{} measured slices ended on another CPU than they began; pin "
                                 "with --pin",
                                 record.pin.migrations));
  }
  std::size_t wide = 0, wrong = 0;
  for (const report::Row& row : record.rows) {
    constexpr double kLargestError = 1e-3;
    wrong += row.max_rel_error && *row.max_rel_error > kLargestError;
    if (!row.time_ns) continue;
    const report::TimeNs& time = *row.time_ns;
    wide += !time.ci95_low || relative_half_width({*time.ci95_low, *time.ci95_high}, time.median) >
                                  runner.target_half_width;
  }
  if (wrong > 0) {
    warn("wrong-result",
         fmt::format("{} rows differ from double precision by more than rounding explains: do not "
                     "trust that library",
                     wrong));
  }
  if (wide > 0) {
    warn("wide-interval",
         fmt::format("{} of {} rows have no interval of the median within {:.0f} %: the machine "
                     "is noisy or --time-budget {} s is short",
                     wide, record.rows.size(), 100 * runner.target_half_width,
                     options.time_budget_s));
  }
}

bool some_row_measured(const report::Profile& record) {
  return std::any_of(record.rows.begin(), record.rows.end(),
                     [](const report::Row& row) { return row.time_ns.has_value(); });
}

report::TextStyle text_style(bool to_file) {
  constexpr int kColumns = 100, kLeastColumns = 60;
  report::TextStyle style{.colour = false, .columns = kColumns};
  if (to_file || ::isatty(STDOUT_FILENO) != 1) return style;
  const char* no_colour = std::getenv("NO_COLOR");  // no-color.org: set and not empty
  style.colour = no_colour == nullptr || *no_colour == '\0';
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.columns = std::clamp<int>(size.ws_col, kLeastColumns, kColumns);
  }
  return style;
}

Result<void> write_report(const report::Profile& record, const ProfileOptions& options) {
  std::string bytes;
  switch (options.format) {
    case Format::kText:
      bytes = report::profile_text(record, text_style(!options.output.empty()));
      break;
    case Format::kJson:
      bytes = report::profile_json(record);
      break;
    case Format::kCsv:
      bytes = report::profile_csv(record);
      break;
    case Format::kMarkdown:
      bytes = report::profile_markdown(record);
      break;
  }
  return options.output.empty() ? report::write_stdout(bytes)
                                : report::write_file(options.output, bytes);
}

int exit_code(const report::Profile& record, const ProfileOptions& options) {
  if (record.partial) return interrupt_exit_code();
  if (!some_row_measured(record)) return 3;
  bool refused = false;
  if (options.require_optimal_blas && record.blas.verdict != "optimal") {
    spdlog::error("--require optimal-blas: the verdict is {}", record.blas.verdict);
    refused = true;
  }
  if (options.require_counters) {
    for (const EventCount& count : record.rows.front().counters) {
      if (count.value) continue;
      spdlog::error("--require counters: {} is {}: {}", count.name, to_string(count.status),
                    count.reason);
      refused = true;
    }
  }
  return refused ? 1 : 0;
}

}  // namespace

Result<int> run_profile(const ProfileOptions& options) {
  const auto begin = Clock::now();
  report::Profile record;
  record.version = HWPROF_VERSION;
  record.command = options.command;
  record.started_utc =
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));

  // 1. What the user can get wrong, before anything takes time.
  if (auto done = check_variants(options.variants); !done) return error_of(done);
  if (!options.output.empty()) {
    if (auto done = report::check_writable(options.output); !done) return error_of(done);
  }

  // 2. The place: CPUs first, since libraries size their thread pools by them when loaded.
  if (!options.pin.empty()) {
    if (auto done = pin_to(options.pin); !done) return error_of(done);
  }
  const CpuList cpus = allowed_cpus();
  record.pin = {.requested = options.pin, .actual = cpus, .migrations = 0};
  record.threads = options.threads.value_or(static_cast<int>(cpus.size()));
  record.machine = probe_machine(cpus.front());
  std::vector<std::string> events = options.events;
  if (events.empty()) events.assign(std::begin(kDefaultEvents), std::end(kDefaultEvents));
  if (auto done = check_event_names(record.machine, events); !done) return error_of(done);

  // 3. The input.
  Result<Input> input = load_input(options);
  if (!input) return error_of(input);
  record.workload = describe(*input, options);

  // 4. The BLAS and the threads. With several threads the caller is number 0 of the team and goes
  // to the first CPU, once the BLAS has started its own threads on all of them.
  Result<LoadedBlas> blas = load_blas(options.blas, record.threads);
  if (!blas) return error_of(blas);
  const bool pinned = !options.pin.empty();
  if (blas->library && record.threads > 1) start_blas_threads(*blas->library);
  ThreadTeam team(static_cast<std::size_t>(record.threads), pinned ? cpus : CpuList{});
  if (pinned && record.threads > 1) {
    if (auto done = pin_to({cpus.front()}); !done) return error_of(done);
  }
  record.simd_target = simd_target();

  watch_interrupts();
  Progress progress(!options.quiet);
  const auto seconds_left = [&] { return options.time_budget_s - seconds_since(begin); };

  // 5. The ceilings.
  progress.show("FMA peak and bandwidth", 0);
  record.peak = measure_peak(record.machine, team);
  settle_peak(*record.peak, {});

  // 6. Which BLAS is it, and how good is it here?
  progress.show("BLAS core types", 0.05);
  record.blas =
      judge_blas(*blas, options, record.machine, cpus, (seconds_left() - kLeastRunSeconds) / 2);

  // 7. Every layer in every variant, checked against double precision.
  Result<TextCnn> model = TextCnn::create(
      input->batch,
      {.filter_sizes = options.shape.filter_sizes, .d_c = options.shape.d_c, .l = options.shape.l},
      blas->library ? &*blas->library : nullptr, blas->reason, team, options.variants,
      options.seed);
  if (!model) return error_of(model);
  std::vector<const Task*> runnable;
  std::vector<Work> work;
  std::vector<double> errors;
  for (const Task& task : model->tasks()) {
    if (!task.run || interrupted()) continue;
    progress.show("checking results", 0.1);
    errors.push_back(task.check());
    runnable.push_back(&task);
    work.push_back({.run = task.run, .flops = task.cost.flops});
  }

  // 8. Times and counts, interleaved with the peak.
  Result<Counting> counting =
      Counting::open(record.machine, cpus.front(), events, {.max_passes = options.passes});
  if (!counting) return error_of(counting);
  const RunnerOptions runner{.budget_s = std::max(kLeastRunSeconds, seconds_left())};
  RunResult result = run_interleaved(work, team, &*counting, runner, interrupted(),
                                     [&](double share) { progress.show("measuring", share); });

  // 9. From samples to rows.
  settle_peak(*record.peak, result.peak_gflops);
  std::vector<BandwidthResult> bandwidth;
  for (const report::Bandwidth& level : record.peak->bandwidth) {
    bandwidth.push_back({.level = level.level, .read_gbs = level.read_gbs});
  }
  const Ceilings ceilings{record.peak->f32_gflops,
                          measured_levels(cache_levels(record.machine, record.threads), bandwidth)};
  for (const Task& task : model->tasks()) {
    const auto found = std::find(runnable.begin(), runnable.end(), &task);
    const auto index = static_cast<std::size_t>(found - runnable.begin());
    const Measurement* measured = index < runnable.size() ? &result.work[index] : nullptr;
    record.rows.push_back(make_row(
        task, measured, measured ? std::optional(errors[index]) : std::nullopt,
        model->checked_documents(), ceilings, task.needs_blas ? blas->threads : record.threads,
        counting->evaluate(measured ? measured->tally : Tally{})));
    record.pin.migrations += measured ? measured->migrations : 0;
  }

  // 10. Does the time agree with the analysis?
  record.passes = forward_passes(record.rows, pass_specs());
  set_forward_shares(record.rows, record.passes);
  record.complexity = complexity_agreement(record.rows, record.passes, record.blas.factor);
  record.partial = result.interrupted;
  add_warnings(record, options, runner);
  record.elapsed_s = seconds_since(begin);

  // 11. The report.
  progress.clear();
  if (auto done = write_report(record, options); !done) return error_of(done);
  return exit_code(record, options);
}

}  // namespace hwprof
