#include "counters/regions/region_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "counters/events/perf_error.h"
#include "counters/events/resolve.h"
#include "counters/machine/affinity.h"
#include "counters/regions/hwprof.h"
#include "counters/regions/region_edge.h"
#include "src/base/text.h"

namespace hwprof {
namespace {

// A region happens once: no second pass over the same work. Software events join the hardware
// group, so that one read() gives all.
void squeeze_into_one_group(RegionSetup& setup) {
  Selection& selection = setup.selection;
  while (selection.passes.size() > 1)
    selection.drop_last_pass(
        {CountStatus::kUnsupported, "it does not fit into one group with the other events",
         "ask for fewer events; a region cannot be counted in several passes"});
  if (selection.passes.empty()) return;
  std::vector<std::size_t> group;
  for (const auto& part : selection.passes.front().groups)
    group.insert(group.end(), part.begin(), part.end());
  if (group.size() > kMostRegionEvents) {
    selection.drop_last_pass({CountStatus::kUnsupported,
                              fmt::format("the events need {} counters, and regions have room for "
                                          "{}",
                                          group.size(), kMostRegionEvents),
                              "ask for fewer events"});
    return;
  }
  for (const std::size_t native : group) setup.natives.push_back(selection.natives[native]);
  selection.passes.front().groups = {std::move(group)};
}

constexpr std::uint64_t kFirstRateNs = 50'000;
constexpr std::size_t kTraceCalls = 65536;
constexpr std::size_t kMostTraceCalls = 1U << 28;
// Of ended threads: a program that starts a thread for each task must not fill the memory.
constexpr std::size_t kMostEndedTraces = 64;

// nullptr: nobody watches.
hwprof_memory* memory_of_caller() {
  return hwprof_memory_of_thread == nullptr ? nullptr : hwprof_memory_of_thread();
}

const RegionWatcher* watcher_of_regions() {
  return hwprof_watch_regions_1 == nullptr ? nullptr : hwprof_watch_regions_1();
}

}  // namespace

Result<RegionSetup> choose_region_events(std::string_view events) {
  RegionSetup setup;
  if (trim(events).empty()) return setup;
  TRY(const auto names, split_event_list(events));
  const unsigned cpu = current_cpu();
  setup.machine = probe_machine(cpu);
  TRY(setup.selection, select_events(setup.machine, cpu, names, 0));
  squeeze_into_one_group(setup);
  return setup;
}

__thread RegionThread* caller_regions = nullptr;

struct RegionRuntime::Member {
  Member(std::uint64_t number, std::size_t events, std::optional<ThreadCounters> open_counters,
         RegionClock clock, std::unique_ptr<RegionTrace> ring)
      : counters(std::move(open_counters)),
        trace(std::move(ring)),
        regions(number, events, counters ? &*counters : nullptr, clock, memory_of_caller(),
                trace.get(), watcher_of_regions()) {}

  std::optional<ThreadCounters> counters;
  std::unique_ptr<RegionTrace> trace;
  RegionThread regions;
};

RegionRuntime& RegionRuntime::instance() {
  // Never destroyed: threads may outlive the destructors of main's end.
  static auto* runtime = [] {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().start_again_in_child(); });
    return new RegionRuntime;
  }();
  return *runtime;
}

namespace {

// Made when the program is loaded, while it has one thread: were it made, or its fork handlers
// registered, at the first region, another thread could fork in between and the child would wait
// for a lock that nobody holds.
[[maybe_unused]] const RegionRuntime& made_at_load = RegionRuntime::instance();

}  // namespace

void RegionRuntime::set_up() {
  // Of a setuid program the variables are somebody else's: none of them counts.
  if (!setup_) {
    const char* events = ::secure_getenv("HWPROF_EVENTS");
    auto chosen = choose_region_events(events == nullptr ? "" : events);
    if (chosen) {
      setup_ = *std::move(chosen);
    } else {
      setup_.emplace();
      setup_->problem = "HWPROF_EVENTS: " + in_words(chosen.error());
    }
  }
  if (calibrated_) return;
  calibrated_ = true;
  set_up_clock();
  has_key_ = pthread_key_create(&key_, [](void* member) {
               instance().end_thread(static_cast<Member*>(member));
             }) == 0;
  if (const char* path = ::secure_getenv("HWPROF_REGIONS"); path != nullptr && *path != '\0') {
    report_path_ = path;  // the program may have cleared its environment by the end
    std::atexit(write_regions_at_exit);
  }
  set_up_trace();
}

void RegionRuntime::set_up_trace() {
  const char* path = ::secure_getenv("HWPROF_TRACE");
  if (!trace_path_ && path != nullptr && *path != '\0') trace_path_ = path;
  if (!trace_path_) return;
  if (!trace_path_->empty()) std::atexit(write_trace_at_exit);
  if (trace_calls_ != 0) return;
  trace_calls_ = kTraceCalls;
  const char* calls = ::secure_getenv("HWPROF_TRACE_CALLS");
  if (calls == nullptr || *calls == '\0') return;
  const auto wanted = parse_unsigned(calls);
  if (wanted && *wanted > 0 && *wanted <= kMostTraceCalls)
    trace_calls_ = *wanted;
  else if (setup_->problem.empty())
    setup_->problem = fmt::format("HWPROF_TRACE_CALLS: '{}' is no number from 1 to {}; {} are kept",
                                  calls, kMostTraceCalls, kTraceCalls);
}

Result<void> RegionRuntime::trace(std::string path, std::size_t calls) {
  const std::lock_guard lock(mutex_);
  if (calibrated_)
    return usage_error("regions of this process were entered already",
                       "call hwprof_trace() before the first one");
  trace_path_ = std::move(path);
  trace_calls_ = calls;
  return {};
}

void RegionRuntime::set_up_clock() {
  const char* wanted = ::secure_getenv("HWPROF_CLOCK");
  const CounterFacts facts = counter_facts(wanted == nullptr ? "" : wanted);
  if (wanted != nullptr && !facts.unwanted && *wanted != '\0')
    setup_->problem += fmt::format("{}HWPROF_CLOCK: '{}' is not known; 'kernel' is",
                                   setup_->problem.empty() ? "" : "; ", wanted);
  no_counter_because_ = why_no_counter(facts);
  has_counter_ = facts.readable && facts.one_rate;
  read_clocks();
}

// The kernel times hardware events by the counter only where it trusts it, whatever its
// clocksource.
RegionClock RegionRuntime::clock_for(const ThreadCounters* counters) const {
  const bool by_page = counters != nullptr && counters->page_has_counter();
  const bool usable = has_counter_ && line_.problem().empty();
  return usable && (no_counter_because_.empty() || by_page) ? RegionClock::kCounter
                                                            : RegionClock::kKernel;
}

void RegionRuntime::read_clocks() {
  if (has_counter_) line_.add(read_both_clocks());
}

std::unique_ptr<RegionTrace> RegionRuntime::make_trace() const {
  if (!trace_path_) return nullptr;
  return std::make_unique<RegionTrace>(trace_calls_, setup_->natives.size());
}

void RegionRuntime::pause_trace(bool paused) {
  const std::lock_guard lock(mutex_);
  for (Member* member : live_)
    if (&member->regions == caller_regions)
      member->regions.keep_calls(paused ? nullptr : member->trace.get());
}

RegionRuntime::Bytes RegionRuntime::bytes_of_caller() {
  const std::lock_guard lock(mutex_);
  for (const Member* member : live_) {
    if (&member->regions != caller_regions) continue;
    const RegionTree& tree = member->regions.tree();
    const std::size_t a_path = sizeof(RegionNode) + tree.event_count() * sizeof(RegionNode::Event);
    return {sizeof(Member) + tree.paths() * a_path, member->trace ? member->trace->bytes() : 0};
  }
  return {};
}

std::optional<TraceText> RegionRuntime::trace_text() {
  RegionTotals totals = this->totals();
  const std::lock_guard lock(mutex_);
  if (!trace_path_) return std::nullopt;
  TraceContents contents{.selection = setup_ ? setup_->selection : Selection{},
                         .threads = {},
                         .memory_watched = totals.memory_watched,
                         .dropped = untraced_,
                         .open = 0};
  for (const RegionSum& sum : totals.sums.nodes()) contents.open += sum.open;
  for (const auto* members : {&traced_, &live_})
    for (const Member* member : *members)
      if (member->trace) contents.threads.push_back(member->trace.get());
  return trace_as_json(contents);
}

Result<void> RegionRuntime::start(const std::string& events) {
  const std::lock_guard lock(mutex_);
  if (setup_)
    return usage_error("the events of this process are chosen already",
                       "call hwprof_start() once, before the first region");
  TRY(setup_, choose_region_events(events));
  return {};
}

RegionThread* RegionRuntime::start_thread() noexcept try {
  const std::lock_guard lock(mutex_);
  const bool first = !calibrated_;
  set_up();
  std::optional<ThreadCounters> counters;
  if (!setup_->natives.empty()) {
    auto opened = ThreadCounters::open(setup_->natives, setup_->selection.user_only);
    if (opened) {
      counters = *std::move(opened);
      ended_.in_user_space += counters->user_space() ? 1 : 0;
    } else {
      ++ended_.without_counters;
      if (ended_.no_counters_because.empty())
        ended_.no_counters_because = to_text(
            explain_open_failure(setup_->machine, opened.error().code, opened.error().what));
    }
  }
  if (first) calibrate(counters ? &*counters : nullptr);
  read_clocks();
  const RegionClock clock = clock_for(counters ? &*counters : nullptr);
  ended_.by_counter += clock == RegionClock::kCounter ? 1 : 0;
  live_.reserve(live_.size() + 1);
  if (trace_path_) traced_.reserve(kMostEndedTraces);
  auto member = std::make_unique<Member>(++last_number_, setup_->natives.size(),
                                         std::move(counters), clock, make_trace());
  if (!has_key_ || pthread_setspecific(key_, member.get()) != 0) return nullptr;
  ++ended_.threads;
  live_.push_back(member.get());
  return caller_regions = &member.release()->regions;
} catch (const std::bad_alloc&) {
  return nullptr;
}

// Through the public functions, as a program calls them.
void RegionRuntime::calibrate(ThreadCounters* counters) {
  constexpr int kBatches = 9, kPairs = 100;
  const std::size_t events = setup_->natives.size();
  RegionCost& cost = setup_->cost;
  const auto least = [](double& known, double sum, bool first) {
    known = first ? sum / kPairs : std::min(known, sum / kPairs);
  };
  const auto value = [](const RegionNumber& number) { return static_cast<double>(number.load()); };
  const RegionClock clock = clock_for(counters);
  cost.inside.resize(events);
  cost.outside.resize(events);
  const auto trace = make_trace();
  const bool in_ticks = clock == RegionClock::kCounter && trace == nullptr;
  for (int batch = 0; batch < kBatches; ++batch) {
    RegionThread scratch(last_number_ + 1, events, counters, clock, memory_of_caller(),
                         trace.get());
    caller_regions = &scratch;
    const hwprof_region around = hwprof_enter("around");
    for (int i = 0; i < kPairs; ++i) hwprof_leave(hwprof_enter("empty"));
    hwprof_leave(around);
    caller_regions = nullptr;
    const RegionNode* outer = scratch.tree().root()->first_child;
    const RegionNode* empty = outer->first_child;
    const auto times = [&](const RegionNode* node) -> const RegionNode::Times& {
      return in_ticks ? node->ticks : node->ns;
    };
    least(cost.inside_ns, value(times(empty).total), batch == 0);
    least(cost.outside_ns, value(times(outer).self), batch == 0);
    for (std::size_t i = 0; i < events; ++i) {
      least(cost.inside[i], value(empty->events[i].total), batch == 0);
      least(cost.outside[i], value(outer->events[i].self), batch == 0);
    }
  }
  if (!in_ticks) return;
  // What later readings are compared with: far enough apart that the rate is known to a thousandth.
  const std::uint64_t start_ns = monotonic_ns();
  while (monotonic_ns() - start_ns < kFirstRateNs) {
  }
  read_clocks();
  cost.inside_ns *= line_.ns_per_tick();
  cost.outside_ns *= line_.ns_per_tick();
}

void RegionRuntime::leave_unknown(RegionThread::Ticket ticket) noexcept {
  if (ticket == 0 || (ticket >> RegionThread::kEntryBits) <= last_foreign_number_) return;
  ++not_open_;
}

void RegionRuntime::add_mishaps(const RegionMishaps& mishaps, RegionTotals& totals) {
  totals.left_by_outer += mishaps.left_by_outer;
  totals.dropped += mishaps.dropped;
  totals.undescribed += mishaps.undescribed;
  totals.backwards += mishaps.backwards;
}

// The destructor of the thread's key, after those of its thread_local objects.
void RegionRuntime::end_thread(Member* member) {
  std::unique_ptr<Member> owner(member);
  const std::size_t open = member->regions.leave_all();
  caller_regions = nullptr;
  const std::lock_guard lock(mutex_);
  live_.erase(std::find(live_.begin(), live_.end(), member));
  ended_.ended_inside += open == 0 ? 0 : 1;
  add_mishaps(member->regions.mishaps(), ended_);
  ended_.dropped += ended_.sums.merge(member->regions.tree());
  if (member->trace == nullptr) return;
  if (traced_.size() == kMostEndedTraces) {
    untraced_ += member->trace->added();
    return;
  }
  member->counters.reset();  // the trace needs the call paths, no descriptors
  traced_.push_back(owner.release());
}

// The lock was taken before the fork. The trees of other threads may be half written: left alone.
void RegionRuntime::start_again_in_child() {
  for (Member* member : live_) {
    if (!member->counters) continue;
    member->counters->forget_mappings();
    member->counters.reset();  // descriptors of the parent's threads
  }
  live_.clear();
  traced_.clear();
  untraced_ = 0;
  ended_ = {};
  not_open_ = 0;
  last_foreign_number_ = last_number_;
  is_fork_ = true;
  caller_regions = nullptr;
  RegionTree::forget_others();
  if (has_key_) pthread_setspecific(key_, nullptr);
  mutex_.unlock();
}

RegionTotals RegionRuntime::totals() {
  const std::lock_guard lock(mutex_);
  RegionTotals totals = ended_;
  totals.not_open += not_open_;
  totals.memory_watched = hwprof_memory_of_thread != nullptr;
  for (Member* member : live_) {
    totals.dropped += totals.sums.merge(member->regions.tree());
    add_mishaps(member->regions.mishaps(), totals);
  }
  // Behind the trees: none has a time after it.
  read_clocks();
  totals.sums.convert_ticks(line_);
  totals.no_counter_because = no_counter_because_;
  totals.clock_problem = line_.problem();
  return totals;
}

RegionSetup RegionRuntime::setup() {
  const std::lock_guard lock(mutex_);
  return setup_.value_or(RegionSetup{});
}

}  // namespace hwprof
