// The text CNN, layer by layer and variant by variant, and whether the time agrees with the
// complexity analysis.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "kernels/registry.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile_input.h"
#include "src/commands/profile_record.h"
#include "src/commands/profile_regions.h"
#include "src/commands/profile_threads.h"
#include "src/commands/profile_workloads.h"
#include "src/measure/agreement.h"

namespace hwprof {
namespace {

Result<void> check_variants(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = variant_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return usage_error(fmt::format("unknown variant '{}'", name),
                       fmt::format("known: {}", fmt::join(known, ", ")));
  }
  return {};
}

const report::ForwardPass* fastest_pass(const std::vector<report::ForwardPass>& passes) {
  const auto fastest =
      std::min_element(passes.begin(), passes.end(),
                       [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return fastest == passes.end() ? nullptr : &*fastest;
}

// In the order of the pass; one operation once for each filter size.
std::vector<const Task*> tasks_of(const report::ForwardPass& pass, const std::vector<Task>& tasks) {
  std::vector<const Task*> found;
  for (const auto& [op, variant] : pass.variants)
    for (const Task& task : tasks)
      if (task.op == op && task.variant == variant && task.run) found.push_back(&task);
  return found;
}

}  // namespace

Result<int> profile_text_cnn(const ProfileOptions& options) {
  // 1. What the user can get wrong, before anything takes time.
  if (auto done = check_variants(options.variants); !done) return error_of(done);
  Result<ProfileSession> session = ProfileSession::begin(options);
  if (!session) return error_of(session);
  report::Profile& record = session->record;

  // 2. The input.
  Result<Input> input = load_input(options);
  if (!input) return error_of(input);
  record.workload = describe(*input, options);
  spdlog::info("{} documents, {} words in rows of {} floats", input->batch.documents(),
               input->batch.rows(), input->batch.d_e);

  // 3. BLAS, threads, ceilings, verdict.
  if (auto done = session->set_up(options); !done) return error_of(done);

  // 4. Every layer in every variant, on one number of threads after the other. The verdicts are on
  // the first.
  const std::vector<int> counts =
      options.threads.empty() ? std::vector<int>{record.threads} : options.threads;
  std::vector<ThreadsRun> runs;
  std::optional<report::Peak> first_peak;
  for (const int threads : counts) {
    if (!runs.empty()) {
      if (interrupted()) break;
      if (auto done = session->set_threads(options, threads); !done) return error_of(done);
    }
    Result<TextCnn> model = TextCnn::create(input->batch,
                                            {.filter_sizes = options.shape.filter_sizes,
                                             .d_c = options.shape.d_c,
                                             .l = options.shape.l},
                                            session->library(), session->blas.reason,
                                            session->team(), options.variants, options.seed);
    if (!model) return error_of(model);
    const auto rows_before = static_cast<std::ptrdiff_t>(record.rows.size());
    if (auto done = session->measure(options, model->tasks(), model->checked_documents()); !done)
      return error_of(done);
    ThreadsRun& run = runs.emplace_back();
    run.count = {.threads = threads,
                 .blas_threads = session->blas.threads,
                 .peak_gflops = record.peak->f32_gflops,
                 .oversubscribed = static_cast<std::size_t>(threads) > session->cpus.size()};
    run.rows.assign(record.rows.begin() + rows_before, record.rows.end());
    if (counts.size() > 1) run.shares = share_cpus(model->tasks(), interrupted());
    if (runs.size() > 1) continue;

    // 5. Does the time agree with the analysis?
    first_peak = record.peak;
    record.passes = forward_passes(record.rows, text_cnn_passes());
    set_forward_shares(record.rows, record.passes);
    record.complexity = complexity_agreement(record.rows, record.passes, record.blas.factor);

    // 6. The fastest pass again, in regions.
    if (const report::ForwardPass* fastest = fastest_pass(record.passes); fastest != nullptr) {
      const RegionTasks pass("forward", tasks_of(*fastest, model->tasks()));
      const std::string what = fmt::format("forward passes, variant {}", fastest->name);
      if (auto done = profile_regions(*session, options, pass.passes(what)); !done)
        return error_of(done);
    }
  }
  if (counts.size() > 1) record.scaling = side_by_side(runs, session->cpus.size());
  record.threads = counts.front();
  record.peak = first_peak;
  add_warnings(record, options);
  return session->finish(options);
}

}  // namespace hwprof
