#include "src/commands/sweep/sweep.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "src/base/text.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile/record.h"
#include "src/report/data/writers.h"
#include "src/report/documents/documents.h"
#include "src/report/render/write_report.h"
#include "src/workloads/operations/operation.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kMaxSweptSize = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMaxPoints = 64;
constexpr std::size_t kMaxRanges = 2;
constexpr const char* kParamHint = "as in --param n=32:2048";

// "n=32:2048"
Result<SweepRange> parse_range(const std::string& item) {
  const std::size_t equals = item.find('='), colon = item.find(':');
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos || colon < equals) {
    return usage_error(fmt::format("--param: '{}' is not NAME=LOW:HIGH", item), kParamHint);
  }
  SweepRange range{.name = item.substr(0, equals)};
  const std::string option = "--param: " + range.name;
  TRY(range.low,
      cli::parse_whole(option, item.substr(equals + 1, colon - equals - 1), 1, kMaxSweptSize));
  TRY(range.high, cli::parse_whole(option, item.substr(colon + 1), 1, kMaxSweptSize));
  if (range.low > range.high) {
    return usage_error(fmt::format("--param: {} is reversed", item),
                       fmt::format("--param {}={}:{}", range.name, range.high, range.low));
  }
  if (range.low == range.high)
    return usage_error(fmt::format("--param: {} is a single size", item), kParamHint);
  return range;
}

// parse_list() drops what is there twice; that is a mistake here.
Result<std::vector<SweepRange>> read_ranges(const std::string& name, const std::string& text) {
  std::vector<SweepRange> ranges;
  for (const std::string_view item : split(text, ',')) {
    TRY(SweepRange range, parse_range(std::string(item)));
    for (const SweepRange& other : ranges) {
      if (other.name == range.name)
        return usage_error(fmt::format("{} has {} twice", name, range.name), "give it once");
    }
    ranges.push_back(std::move(range));
  }
  if (ranges.size() > kMaxRanges) {
    return usage_error(fmt::format("{} has {} sizes; at most {} can be swept at once", name,
                                   ranges.size(), kMaxRanges));
  }
  return ranges;
}

// "k=2,d_e=300"; which names there are, the operation knows.
Result<Sizes> read_sizes(const std::string& name, const std::string& text) {
  TRY(const auto items, cli::parse_list(name, text));
  Sizes sizes;
  for (const std::string& item : items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error(fmt::format("{}: '{}' is not KEY=SIZE", name, item),
                         "as in --shape k=2,d_e=300");
    }
    const std::string key = item.substr(0, equals);
    TRY(const auto size, cli::parse_whole(fmt::format("{}: {}", name, key), item.substr(equals + 1),
                                          0, kMaxSweptSize));
    for (const auto& [other, value] : sizes)
      if (other == key) return usage_error(fmt::format("{} has {} twice", name, key));
    sizes.emplace_back(key, size);
  }
  return sizes;
}

Result<void> check_sweep(const SweepOptions& options) {
  if (options.op.empty()) {
    return usage_error("sweep needs an operation; name it with --op",
                       "as in hwprof sweep --op conv1d --variant fused --param n=32:2048");
  }
  if (options.ranges.empty())
    return usage_error("sweep needs a size to sweep; name it with --param", kParamHint);
  if (options.measure.machine.threads.size() > 1) {
    return usage_error("--threads: a sweep takes one number of threads",
                       "run it again for the other one");
  }
  return {};
}

int exit_code(const report::Sweep& sweep, const SweepOptions& options) {
  if (sweep.run.partial) return interrupt_exit_code();
  if (std::none_of(sweep.points.begin(), sweep.points.end(),
                   [](const report::SweepPoint& point) { return point.row.time_ns; }))
    return 3;
  if (!options.require_agreement || sweep.agrees.value_or(false)) return 0;
  spdlog::error("--require agreement: {}", sweep.text);
  return 1;
}

// Measures, writes the report, returns the exit code: 0, 1 (--require agreement says no), 3
// (nothing could be measured), 128 + signal (partial report).
Result<int> run_sweep(const SweepOptions& options) {
  // 1. What the user can get wrong, before anything takes time.
  Result<ProfileSession> session = ProfileSession::begin(options.measure);
  if (!session) return error_of(session);
  const Result<SweepPlan> plan = plan_sweep(options, session->record.machine.memory_bytes);
  if (!plan) return error_of(plan);

  // 2. BLAS, threads, ceilings.
  if (auto done = session->set_up(); !done) return error_of(done);

  // 3. The operation at every point.
  std::vector<Operation> operations;
  std::vector<Task> tasks;
  for (const OperationSpec& spec : plan->specs) {
    session->progress->show("making inputs", 0, kCheckedProgress);
    Result<Operation> operation =
        Operation::create(spec, {}, session->library(), session->blas.reason, session->team());
    if (!operation) return error_of(operation);
    tasks.push_back(operation->task());
    operations.push_back(*std::move(operation));
  }

  // 4. All points, interleaved, and the laws through them.
  const Result<report::Sweep> sweep = measure_sweep(*session, options, *plan, tasks);
  if (!sweep) return error_of(sweep);
  session->progress->clear();
  const auto done =
      report::write_report(*sweep, {report::sweep_document, report::sweep_json, report::sweep_csv},
                           options.measure.output);
  if (!done) return error_of(done);
  return exit_code(*sweep, options);
}

}  // namespace

Result<report::Sweep> measure_sweep(ProfileSession& session, const SweepOptions& options,
                                    const SweepPlan& plan, std::span<const Task> tasks) {
  // A check is of a sample of blocks, not of whole documents.
  constexpr std::size_t kWholeDocuments = 0;
  if (auto done = session.measure(tasks, {.checked_documents = kWholeDocuments}); !done)
    return error_of(done);
  add_warnings(session.record, options.measure.budget);
  session.record.elapsed_s = session.seconds();
  report::Sweep sweep;
  sweep.run = session.record;
  sweep.op = plan.op;
  sweep.variant = plan.variant;
  if (options.op != plan.op) sweep.asked = options.op;
  sweep.held = plan.held;
  for (const SweepRange& range : plan.ranges)
    sweep.swept.push_back({range.name, range.low, range.high});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].needs_blas) sweep.blas = sweep.run.blas;
    report::SweepPoint& point = sweep.points.emplace_back();
    for (std::size_t size = 0; size < plan.ranges.size(); ++size)
      point.at.emplace_back(plan.ranges[size].name, plan.at[i][size]);
    point.working_set_bytes = tasks[i].cost.working_set_bytes;
    point.row = std::move(sweep.run.rows[i]);
  }
  sweep.run.rows.clear();
  judge_sweep(sweep);
  return sweep;
}

namespace {

std::vector<cli::Candidate> operation_candidates() {
  std::vector<cli::Candidate> all;
  for (const OperationKind& kind : operation_kinds())
    all.push_back({std::string(kind.name), std::string(kind.type_name)});
  return all;
}

// Of any operation: which of them has it stands beside it.
std::vector<cli::Candidate> operation_variants() {
  std::map<std::string_view, std::vector<std::string_view>> operations;
  for (const OperationKind& kind : operation_kinds())
    for (const std::string_view variant : kind.variants()) operations[variant].push_back(kind.name);
  std::vector<cli::Candidate> all;
  for (const auto& [variant, names] : operations)
    all.push_back({std::string(variant), join(names)});
  return all;
}

}  // namespace

cli::Action sweep_command(cli::Options& options) {
  auto to = std::make_shared<SweepOptions>();
  MeasureOptions& measure = to->measure;
  measure.machine.ladder = false;
  options.group(cli::kWork);
  options
      .value("--op", "NAME", to->op, cli::any_text,
             "Run this operation: conv1d, conv1d-maxpool, maxpool (or pooling), linear, "
             "conv2d, conv2d-bn-relu, batchnorm, relu, add, average-pool, softmax, reshape. "
             "Default: none, it must be named.")
      .completes(operation_candidates);
  options
      .value("--variant", "NAME", to->variant, cli::any_text,
             "In this variant. Default: hwprof's own optimised one.")
      .completes(operation_variants);
  options
      .value("--param", "NAME=LOW:HIGH", to->ranges, read_ranges,
             "Sweep this size from LOW to HIGH in geometric steps; given for two sizes: in every "
             "combination. Default: none, one must be named.")
      .adds_up();
  options.value("--points", "N", to->points, cli::whole(2, kMaxPoints),
                "Measure N sizes of each range. Default: one for each doubling, 6 to 12; of two "
                "ranges 4 to 6 each.");
  options
      .value("--shape", "SPEC", to->sizes, read_sizes,
             "Set the other sizes, as in d_e=300,d_c=128. Default: those of the text CNN "
             "(k=2,d_e=300,d_c=128,n=124,l=103,batch=64), or of ResNet20's first block.")
      .adds_up();
  declare_inputs(options, measure);
  declare_machine(options, measure.machine);
  declare_time_budget(options, measure.budget);
  declare_exact(options, measure);
  cli::require(options, {{"agreement", &to->require_agreement}},
               "Exit with 1 unless agreement holds: of time with the complexity analysis, in "
               "every size that is swept. Default: no check.");
  cli::output(options, measure.output,
              {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  options.check([to] { return check_sweep(*to); });
  return [to](const cli::CommandLine& line) {
    to->measure.quiet = line.verbosity == cli::Verbosity::kQuiet;
    to->measure.command = line.words;
    return run_sweep(*to);
  };
}

}  // namespace hwprof
