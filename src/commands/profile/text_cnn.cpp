// The text CNN, layer by layer and variant by variant, and whether the time agrees with the
// complexity analysis.
#include "src/workloads/networks/text_cnn.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "kernels/registry.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile/profile.h"
#include "src/commands/profile/record.h"
#include "src/commands/profile/regions.h"
#include "src/commands/profile/threads.h"
#include "src/measure/agreement.h"
#include "src/workloads/inputs/documents.h"
#include "src/workloads/inputs/embedding.h"

namespace hwprof {
namespace {

struct Input {
  DocumentSet documents;
  BatchShape shape;
  Embedding embedding;
  Batch batch;
};

Result<Input> load_input(const TextCnnOptions& options, std::uint64_t seed) {
  Input input;
  const ShapeOptions& shape = options.shape;
  if (options.docs) {
    Result<DocumentSet> documents = read_documents(*options.docs, options.docs_format);
    if (!documents) return error_of(documents);
    input.documents = std::move(*documents);
  } else {
    input.documents = synthetic_documents({.documents = shape.batch, .n = shape.n, .seed = seed});
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

report::Workload describe(const Input& input, const TextCnnOptions& options) {
  const Batch& batch = input.batch;
  const PaddingCost cost = padding_cost(input.documents, input.shape);
  report::Workload workload;
  workload.documents = input.documents.source;
  workload.embedding = input.embedding.source;
  workload.padding = options.padding;
  workload.shape = {{"k", fmt::format("{}", fmt::join(options.shape.filter_sizes, "+"))},
                    {"d_e", std::to_string(batch.d_e)},
                    {"d_c", std::to_string(options.shape.d_c)},
                    {"l", std::to_string(options.shape.l)},
                    {"batch", std::to_string(batch.documents())}};
  if (options.shape.n) workload.shape.emplace_back("n", std::to_string(*options.shape.n));
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

Result<void> check_variants(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = variant_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return usage_error(fmt::format("unknown variant '{}'", name),
                       fmt::format("known: {}", fmt::join(known, ", ")));
  }
  return {};
}

// In the order of the pass; one operation once for each filter size.
std::vector<const Task*> tasks_of(const report::ForwardPass& pass, const std::vector<Task>& tasks) {
  std::vector<const Task*> found;
  for (const auto& [op, variant] : pass.variants)
    for (const Task& task : tasks)
      if (task.op == op && task.variant == variant && task.run) found.push_back(&task);
  return found;
}

void warn_of_short_documents(report::Profile& record, const BatchShape& shape) {
  if (record.workload.short_documents == 0) return;
  record.warnings.push_back(
      {"short-documents",
       fmt::format(
           "{} of {} documents are shorter than the filter and were padded with zeros to {} "
           "words",
           record.workload.short_documents, record.workload.documents_used,
           *std::max_element(shape.filter_sizes.begin(), shape.filter_sizes.end()))});
}

// The variants that call a BLAS, with the fastest one that was measured, where programs get
// another: "best-gemm" is "blas-gemm" with that.
struct BestVariants {
  std::unique_ptr<LoadedBlas> blas;  // the model's
  std::optional<TextCnn> model;
  std::vector<Task> tasks;
};

// By the name of a variant that needs a BLAS. Tasks keep views of these.
const std::map<std::string, std::string, std::less<>>& best_names() {
  static const auto names = [] {
    std::map<std::string, std::string, std::less<>> best;
    for (const std::string_view name : variant_names())
      if (name.starts_with("blas-")) best.emplace(name, fmt::format("best-{}", name.substr(5)));
    return best;
  }();
  return names;
}

// Each behind the others of its operation and shape, as they stand in the table.
void add_beside(const std::vector<Task>& more, std::vector<Task>& tasks) {
  for (const Task& task : more) {
    const auto last = std::find_if(tasks.rbegin(), tasks.rend(), [&](const Task& other) {
      return other.op == task.op && other.shape == task.shape;
    });
    tasks.insert(last.base(), task);
  }
}

Result<BestVariants> best_variants(ProfileSession& session, const Input& input,
                                   const TextCnnOptions& options) {
  BestVariants best;
  std::vector<std::string> only;
  for (const auto& [name, best_name] : best_names()) {
    if (options.variants.empty() || std::find(options.variants.begin(), options.variants.end(),
                                              name) != options.variants.end()) {
      only.push_back(name);
    }
  }
  if (only.empty()) return best;
  BestBlas loaded = load_best(session.record.blas, session.blas);
  if (!loaded.loaded) {
    if (!loaded.reason.empty()) {
      session.record.warnings.push_back(
          {"best-blas",
           "the fastest BLAS could not be measured in the operations: " + loaded.reason});
    }
    return best;
  }
  best.blas = std::make_unique<LoadedBlas>(*std::move(loaded.loaded));
  if (best.blas->threads > 1) start_blas_threads(*best.blas->library);
  Result<TextCnn> model = TextCnn::create(
      input.batch,
      {.filter_sizes = options.shape.filter_sizes, .d_c = options.shape.d_c, .l = options.shape.l},
      &*best.blas->library, session.blas.reason, session.team(), only, session.options.seed);
  if (!model) return error_of(model);
  best.model = *std::move(model);
  best.tasks = best.model->tasks();
  for (Task& task : best.tasks) {
    task.variant = best_names().find(task.variant)->second;
    task.library = library_in_words(*best.blas->identity);
  }
  return best;
}

// The layers on one number of threads.
struct OnThreads {
  int threads = 1;
  TextCnn model;
  BestVariants best;
  std::vector<Task> tasks;
  TaskTurns turns;
};

Result<std::vector<OnThreads>> prepare(ProfileSession& session, const Input& input,
                                       const TextCnnOptions& options,
                                       const std::vector<int>& counts) {
  std::vector<OnThreads> prepared;
  prepared.reserve(counts.size());
  for (const int threads : counts) {
    TRY(session.set_threads(threads));
    TRY(TextCnn model, TextCnn::create(input.batch,
                                       {.filter_sizes = options.shape.filter_sizes,
                                        .d_c = options.shape.d_c,
                                        .l = options.shape.l},
                                       session.library(), session.blas.reason, session.team(),
                                       options.variants, session.options.seed));
    OnThreads& on = prepared.emplace_back(OnThreads{
        .threads = threads, .model = std::move(model), .best = {}, .tasks = {}, .turns = {}});
    // Beside what programs get, on the same number of threads only: its threads were started once.
    if (counts.size() == 1) {
      TRY(on.best, best_variants(session, input, options));
    }
    on.tasks = on.model.tasks();
    add_beside(on.best.tasks, on.tasks);
    TRY(on.turns,
        session.begin_turns(on.tasks,
                            {.checked_documents = on.model.checked_documents(),
                             .loops = options.loops,
                             .repeat = session.options.budget.repeat,
                             .own_library = on.best.blas ? &*on.best.blas->library : nullptr},
                            counts.size() - 1));
  }
  return prepared;
}

// There and back, so that what drifts on the machine meets all alike.
Result<void> take_turns(ProfileSession& session, std::vector<OnThreads>& prepared) {
  constexpr std::size_t kRounds = 8;
  const std::size_t rounds = prepared.size() == 1 ? 1 : kRounds;
  for (std::size_t round = 0; round < rounds; ++round) {
    double done = 0;
    for (const OnThreads& on : prepared) done = std::max(done, on.turns.measuring->share_done());
    const double until = done + (1 - done) / static_cast<double>(rounds - round);
    for (std::size_t i = 0; i < prepared.size() && !interrupted(); ++i) {
      OnThreads& on = prepared[round % 2 == 0 ? i : prepared.size() - 1 - i];
      TRY(session.set_threads(on.threads));
      session.take_turn(on.turns, until);
    }
  }
  return {};
}

}  // namespace

Result<void> profile_workload(ProfileSession& session, const TextCnnOptions& options) {
  // 1. What the user can get wrong, before anything takes time.
  if (auto done = check_variants(options.variants); !done) return error_of(done);
  report::Profile& record = session.record;

  // 2. The input.
  const std::uint64_t seed = session.options.seed;
  Result<Input> input = load_input(options, seed);
  if (!input) return error_of(input);
  record.workload = describe(*input, options);
  spdlog::info("{} documents, {} words in rows of {} floats", input->batch.documents(),
               input->batch.rows(), input->batch.d_e);

  // 3. BLAS, threads, ceilings, verdict.
  if (auto done = session.set_up(); !done) return error_of(done);

  // 4. Every layer in every variant, the numbers of threads by turns. The verdicts are on the
  // first.
  std::vector<int> counts = session.options.machine.threads;
  if (counts.empty()) counts = {record.threads};
  Result<std::vector<OnThreads>> prepared = prepare(session, *input, options, counts);
  if (!prepared) return error_of(prepared);
  TRY(take_turns(session, *prepared));

  std::vector<ThreadsRun> runs;
  std::optional<report::Peak> first_peak;
  for (OnThreads& on : *prepared) {
    TRY(session.set_threads(on.threads));
    ThreadsRun& run = runs.emplace_back();
    run.turns_ns = on.turns.turns_ns;
    const auto rows_before = static_cast<std::ptrdiff_t>(record.rows.size());
    session.add_rows(std::move(on.turns));
    run.count = {.threads = on.threads,
                 .blas_threads = session.blas.threads,
                 .peak_gflops = record.peak->f32_gflops,
                 .oversubscribed = static_cast<std::size_t>(on.threads) > session.cpus.size()};
    run.rows.assign(record.rows.begin() + rows_before, record.rows.end());
    if (counts.size() > 1) run.shares = share_cpus(on.model.tasks(), interrupted());
    if (runs.size() > 1) continue;

    // 5. Does the time agree with the analysis?
    first_peak = record.peak;
    record.passes = forward_passes(record.rows, text_cnn_passes());
    set_forward_shares(record.rows, record.passes);
    record.complexity = complexity_agreement(record.rows, record.passes);
    measure_causes(session, input->batch);

    // 6. The fastest pass again, in regions.
    if (const auto fastest = report::fastest_passes(record.passes); !fastest.empty()) {
      const RegionTasks pass("forward", tasks_of(fastest.front(), on.model.tasks()));
      const std::string what = fmt::format("forward passes, variant {}", fastest.front().name);
      if (auto done = profile_regions(session, pass.passes(what)); !done) return error_of(done);
    }
  }
  if (counts.size() > 1) record.scaling = side_by_side(runs, session.cpus.size());
  record.threads = counts.front();
  record.peak = first_peak;
  warn_of_short_documents(record, input->shape);
  return {};
}

}  // namespace hwprof
