#include "counters/perf/counting.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>

#include "counters/events/event_table.h"
#include "counters/events/perf_error.h"
#include "counters/events/resolve.h"
#include "counters/perf/metrics.h"
#include "counters/perf/selection.h"
#include "counters/perf/thread_groups.h"

namespace hwprof {
namespace {

constexpr std::size_t kSpareDescriptors = 8;  // left for the rest of the program

struct DescriptorRoom {
  std::size_t limit = 0, free = 0;
};

// Absent: no limit, or none that can be found out.
std::optional<DescriptorRoom> descriptor_room() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error && error.value() != EMFILE) return std::nullopt;
  const auto taken =
      static_cast<std::size_t>(std::distance(begin(files), end(files))) + kSpareDescriptors;
  const std::size_t most = limit.rlim_cur;
  return DescriptorRoom{most, error || most < taken ? 0 : most - taken};
}

// Every counter of every thread is a descriptor. Whole passes go, the last one first: the events
// of a pass that stays are complete.
void keep_within_descriptors(Selection& selection) {
  const auto room = descriptor_room();
  if (!room) return;
  const std::size_t threads = process_threads().size();
  const std::size_t wanted = selection.counters_per_thread() * threads;
  const Refusal refusal{
      CountStatus::kDenied,
      fmt::format("the events need {} file descriptors ({} a thread, {} threads), and {} of {} are "
                  "free",
                  wanted, selection.counters_per_thread(), threads, room->free, room->limit),
      fmt::format("ulimit -n {}", room->limit - room->free + wanted)};
  while (!selection.passes.empty() && selection.counters_per_thread() * threads > room->free)
    selection.drop_last_pass(refusal);
}

void run_a_little() {
  constexpr int kSteps = 100000;
  volatile double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum = sum + 0.5;
}

}  // namespace

struct Counting::State {
  Limits limits;
  Selection selection;
  ThreadGroups groups;
};

Result<void> check_event_names(const Machine& machine, std::span<const std::string> names) {
  for (const std::string& name : names) TRY(resolve(machine, 0, name));
  return {};
}

Counting::Counting(std::unique_ptr<State> state) : state_(std::move(state)) {}
Counting::Counting(Counting&&) noexcept = default;
Counting& Counting::operator=(Counting&&) noexcept = default;
Counting::~Counting() = default;

Result<Counting> Counting::open(const Machine& machine, unsigned cpu,
                                std::span<const std::string> names, CountingOptions options) {
  TRY(Selection selection, select_events(machine, cpu, names, options.max_passes));
  keep_within_descriptors(selection);

  const PmuDevice* pmu = machine.pmu.for_cpu(cpu);
  auto state = std::make_unique<State>();
  state->limits = limits_of(find_core(machine.id, pmu == nullptr ? "" : pmu->name));
  while (true) {
    auto groups = ThreadGroups::open(selection.natives, selection.passes, selection.user_only);
    if (groups) {
      state->groups = *std::move(groups);
      break;
    }
    // It fitted the caller alone; another thread, or all of them together, were too much.
    selection.drop_last_pass(
        explain_open_failure(machine, groups.error().code, groups.error().what));
  }
  state->selection = std::move(selection);
  return Counting(std::move(state));
}

std::size_t Counting::passes() const { return state_->groups.passes(); }

std::size_t Counting::threads() const { return state_->groups.threads(); }

Result<void> Counting::refresh_threads() { return state_->groups.refresh(); }

Result<void> Counting::start(std::size_t pass) { return state_->groups.start(pass); }

Result<void> Counting::stop(std::size_t pass, Tally& tally, double calls) {
  tally.passes.resize(passes());
  Tally::Pass& sums = tally.passes[pass];
  TRY(state_->groups.stop(pass, sums.groups));
  sums.calls += calls;
  return {};
}

std::vector<EventCount> Counting::evaluate(const Tally& tally) const {
  std::vector<EventCount> counts = evaluate_tally(state_->selection, tally);
  flag_implausible(counts, state_->limits);
  return counts;
}

const Limits& Counting::limits() const { return state_->limits; }

Result<std::vector<EventCount>> try_events(const Machine& machine, unsigned cpu,
                                           std::span<const std::string> names) {
  Result<Counting> counting = Counting::open(machine, cpu, names, {});
  if (!counting) return error_of(counting);
  Tally tally;
  for (std::size_t pass = 0; pass < counting->passes(); ++pass) {
    if (auto done = counting->start(pass); !done) return error_of(done);
    run_a_little();
    if (auto done = counting->stop(pass, tally, 1); !done) return error_of(done);
  }
  return counting->evaluate(tally);
}

}  // namespace hwprof
