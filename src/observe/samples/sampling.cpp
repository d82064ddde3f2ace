#include "src/observe/samples/sampling.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "counters/events/perf_error.h"
#include "counters/machine.h"
#include "counters/machine/affinity.h"
#include "src/base/text.h"
#include "src/observe/perf/rings.h"
#include "src/observe/proc/address_space.h"
#include "src/observe/proc/process_memory.h"
#include "src/observe/proc/processes.h"
#include "src/observe/python/python_watch.h"
#include "src/observe/samples/code_lines.h"
#include "src/observe/samples/line_tally.h"
#include "src/observe/samples/placed_stacks.h"
#include "src/observe/samples/sample_lines.h"
#include "src/observe/samples/sample_table.h"
#include "src/observe/samples/sampled_code.h"
#include "src/observe/unwind/sample_memory.h"
#include "src/observe/unwind/unwinder.h"

namespace hwprof::observe {
namespace {

constexpr double kMaximumHz = 10'000;
// A second of a busy CPU fills 8 MB where the stack is copied: a quarter of one has room. A sample
// is waited for all the same, since what is beyond the copy is read from the living stack: 14 ms
// later 4 % of the stacks of threaded OpenBLAS cannot be followed, 1 ms later all can.
constexpr std::size_t kUnwindingRingBytes = 2U << 20U;
constexpr std::size_t kUnwindingRingsBytes = 64U << 20U;  // of all CPUs

perf_event_attr clock_event(const SamplingOptions& options, double hz, bool on_exec) {
  const bool callers = options.stacks || options.lines;
  perf_event_attr attr = tree_event((callers ? kStackHits : kInstructionHits) | kUserIp, on_exec);
  attr.sample_regs_user = kUserIpRegister;
  if (*why_waits_are_not_known() == '\0') {
    attr.sample_type |= kStackTop;
    attr.sample_stack_user = kStackTopBytes;
  }
  if (options.unwind) {
    attr.sample_type |= kStackTop;
    attr.sample_stack_user = kStackCopyBytes;
    attr.sample_regs_user = kUnwindRegisters;
    attr.wakeup_events = 1;
  }
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = static_cast<std::uint64_t>(std::lround(hz));
  add_task_records(attr);
  attr.exclude_hv = 1;
  attr.exclude_callchain_kernel = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;  // one clock for the rings of all CPUs
  return attr;
}

std::size_t unwinding_ring_bytes() {
  const auto cpus = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::clamp(std::bit_floor(kUnwindingRingsBytes / cpus), Rings::kBytes,
                    kUnwindingRingBytes);
}

// The kernel lowers what it allows when sampling once took too long.
double allowed_hz(double wanted) {
  const auto text = read_text_file("/proc/sys/kernel/perf_event_max_sample_rate");
  const auto limit = text ? parse_unsigned(trim(*text)) : std::nullopt;
  return limit && *limit > 0 ? std::min(wanted, static_cast<double>(*limit)) : wanted;
}

tl::unexpected<Error> refused(int pid, int code) {
  if (code == EMFILE) {
    return environment_error(
        code, fmt::format("cannot sample process {}: no file descriptor is left", pid));
  }
  if (code == ESRCH) {
    return environment_error(code, fmt::format("cannot sample process {}: it has ended", pid));
  }
  const Refusal refusal = explain_open_failure(probe_machine(current_cpu()), code, "cpu-clock");
  return environment_error(code, fmt::format("cannot sample process {}: {}", pid, refusal.reason),
                           refusal.remedy);
}

}  // namespace

struct Sampling::State {
  SamplingOptions options;
  perf_event_attr attr{};
  Rings rings;
  std::vector<UniqueFd> followers;  // events of further threads
  std::set<int> opened;             // thread ids

  AddressSpaces spaces;
  ProcessMemory living;
  SampleTable table;
  SourceLines source_lines;
  PythonWatch python{living, source_lines};
  LineTally lines;
  std::uint64_t lost = 0, throttled = 0;
  std::vector<std::string> notes;

  Result<void> open_first(int tid, bool on_exec);
  bool open_further(int tid);
  void attach(int pid);
  void take(bool all);
  void apply(const std::vector<Record>& records);
  void apply(const Record& record);
  void add(const Sample& sample, std::uint64_t time_ns);
  // Settles `look` by it.
  [[nodiscard]] UnwoundStack unwound(const Sample& sample, std::uint64_t time_ns, PythonLook& look);
  [[nodiscard]] bool observes(pid_t process) const;
  void name_stacks(SampleProfile& profile);
  void add_callers(const Sample& sample, const UnwoundStack& stack, std::vector<CodePlace>& places);
  [[nodiscard]] CodePlace place(int pid, std::uint64_t address, bool executed);
};

// Tried with the kernel's own time first.
Result<void> Sampling::State::open_first(int tid, bool on_exec) {
  const double hz = allowed_hz(options.hz);
  if (hz < options.hz) {
    notes.push_back(
        fmt::format("sampled at {:.0f} Hz: kernel.perf_event_max_sample_rate allows no more", hz));
  }
  attr = clock_event(options, hz, on_exec);
  const auto explain = [&](int code) { return refused(tid, code); };
  auto done = rings.open(attr, tid, explain);
  if (!done && (done.error().code == EACCES || done.error().code == EPERM)) {
    attr.exclude_kernel = 1;
    done = rings.open(attr, tid, explain);
  }
  if (!done) return done;
  opened.insert(tid);
  if (attr.exclude_kernel != 0) {
    notes.emplace_back(
        "time inside the kernel is not sampled: kernel.perf_event_paranoid keeps it from ordinary "
        "users");
  }
  return {};
}

bool Sampling::State::open_further(int tid) {
  auto events = rings.add(attr, tid, [&](int code) { return refused(tid, code); });
  if (!events) return false;
  if (events->size() == rings.size()) opened.insert(tid);
  std::move(events->begin(), events->end(), std::back_inserter(followers));
  return true;
}

// Threads that start meanwhile are inherited or found in the next round.
void Sampling::State::attach(int pid) {
  constexpr int kRounds = 8;
  bool complete = true;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t before = opened.size();
    for (const int process : process_tree(pid)) {
      for (const int tid : threads_of(process)) {
        if (!opened.contains(tid) && !open_further(tid)) complete = false;
      }
    }
    if (opened.size() == before) break;
  }
  if (!complete) {
    notes.push_back(fmt::format("not every thread of process {} could be sampled", pid));
  }
  rings.enable();
  for (const UniqueFd& event : followers) ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
  // After that, so that nothing is mapped unseen in between.
  for (const int process : process_tree(pid)) {
    for (const Record& record : records_of_running(process)) spaces.apply(record);
  }
}

void Sampling::State::take(bool all) {
  rings.read();
  apply(rings.in_order(all));
}

void Sampling::State::apply(const std::vector<Record>& records) {
  for (const Record& record : records) apply(record);
  if (options.python && !records.empty()) lines.settle(records.back().time_ns);
}

void Sampling::State::apply(const Record& record) {
  if (const auto* sample = std::get_if<Sample>(&record.body)) {
    add(*sample, record.time_ns);
  } else if (const auto* missing = std::get_if<Lost>(&record.body)) {
    lost += missing->records;
  } else if (std::holds_alternative<Throttled>(record.body)) {
    ++throttled;
  } else {
    const auto* named = std::get_if<Named>(&record.body);
    const auto* exited = std::get_if<Exited>(&record.body);
    if (named != nullptr && named->by_exec) living.forget(named->pid);
    if (exited != nullptr && exited->pid == exited->tid) living.forget(exited->pid);
    spaces.apply(record);
    python.apply(record);
  }
}

CodePlace Sampling::State::place(int pid, std::uint64_t address, bool executed) {
  const Mapping* mapping = spaces.find(pid, address);
  if (mapping == nullptr) return table.images.unknown(address);
  return table.images.locate(pid, *mapping, address, executed);
}

void Sampling::State::add(const Sample& sample, std::uint64_t time_ns) {
  // First: the program goes on meanwhile.
  PythonLook look = options.python ? python.look(sample.pid, sample.tid, time_ns) : PythonLook();
  const CodePlace hit = !sample.in_kernel ? place(sample.pid, sample.ip, true)
                        : sample.user_ip == 0
                            ? table.images.kernel()
                            : table.images.kernel(place(sample.pid, sample.user_ip, true));
  table.add(hit, sample.tid, time_ns, std::uint64_t{1'000'000'000} / attr.sample_freq);
  const CodePlace in_program = table.images.in_program(hit);
  const bool asks_caller = sample.stack_top != 0 && (table.images.is_c_library(in_program) ||
                                                     table.images.is_thread_runtime(in_program));
  table.threads.add(
      hit, asks_caller ? place(sample.pid, sample.stack_top, false) : table.images.kernel(),
      sample.tid);
  const UnwoundStack stack = options.unwind ? unwound(sample, time_ns, look) : UnwoundStack();
  if (options.python && !options.unwind) python.settle(look, nullptr);
  if (!options.stacks && !options.python) return;
  const std::string process = spaces.name(sample.pid);
  NativeStack native{.process = process.empty() ? "[process]" : process, .places = {hit}};
  if (options.stacks || options.lines) add_callers(sample, stack, native.places);
  lines.add(table.stacks.number(std::move(native)), sample.pid, sample.tid, time_ns,
            std::move(look.read));
}

UnwoundStack Sampling::State::unwound(const Sample& sample, std::uint64_t time_ns,
                                      PythonLook& look) {
  const Registers registers = registers_of(sample);
  SampleMemory memory(sample.pid, registers.values[kStackPointer], sample.stack, living);
  SampledCode code(sample.pid, spaces, table.images, memory);
  UnwoundStack stack = unwind(registers, code, memory);
  if (!stack.frames.empty())
    table.add_end(stack, place(sample.pid, stack.frames.back().executed(), false));
  const UnwoundSample found{.time_ns = time_ns,
                            .pid = sample.pid,
                            .tid = sample.tid,
                            .in_kernel = sample.in_kernel,
                            .stack = stack,
                            .spaces = spaces,
                            .memory = memory};
  if (options.hook) options.hook(found);
  if (options.python) python.settle(look, &found);
  return stack;
}

// By frame pointers where those lead further, as through generated code.
void Sampling::State::add_callers(const Sample& sample, const UnwoundStack& stack,
                                  std::vector<CodePlace>& places) {
  // Of the kernel the innermost frame of the program is a caller.
  const std::size_t first = sample.in_kernel ? 0 : 1;
  if (!stack.frames.empty() &&
      (stack.end == StackEnd::kWhole || stack.frames.size() >= sample.callers.size() + first)) {
    for (std::size_t i = first; i < stack.frames.size(); ++i)
      places.push_back(place(sample.pid, stack.frames[i].executed(), false));
    return;
  }
  for (const std::uint64_t address : sample.callers) {
    // A return address may already belong to what follows the call.
    places.push_back(place(sample.pid, address - 1, false));
  }
}

Sampling::Sampling(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sampling::Sampling(Sampling&&) noexcept = default;
Sampling& Sampling::operator=(Sampling&&) noexcept = default;
Sampling::~Sampling() = default;

Result<Sampling> Sampling::open(int pid, bool on_exec, const SamplingOptions& options) {
  if (!(options.hz >= 1 && options.hz <= kMaximumHz)) {
    return usage_error(fmt::format("cannot sample at {} Hz", options.hz),
                       "a frequency from 1 to 10000");
  }
  auto state = std::make_unique<State>();
  state->options = options;
  state->options.unwind =
      (options.unwind || options.lines || options.hook) && kUnwindRegisters != 0;
  if (state->options.unwind) state->rings = Rings(unwinding_ring_bytes());
  if (options.unwind && !state->options.unwind)
    state->notes.emplace_back("stacks are followed by frame pointers alone on this kind of CPU");
  TRY(state->open_first(pid, on_exec));
  if (!on_exec) state->attach(pid);
  return Sampling(std::move(state));
}

std::vector<int> Sampling::descriptors() const { return state_->rings.descriptors(); }

// Twice: what came before any record of the first reading is there in the second, so that all of
// the first is in order. A sample that waits is a sample whose stack is gone.
void Sampling::drain() {
  state_->take(false);
  state_->take(false);
}

bool Sampling::begins_at(int pid, int tid, std::uint64_t address) {
  if (state_->spaces.find(pid, address) == nullptr) return false;
  state_->table.threads.begins_at(tid, state_->place(pid, address, false));
  return true;
}

// In a namespace of its own the number by which a process knows itself may be that of another one.
// Of a young one the record may still be on its way.
bool Sampling::State::observes(pid_t process) const {
  const auto is_known = [&](pid_t pid) { return !spaces.name(pid).empty(); };
  if (is_known(process)) return true;
  const auto info = process_info(process);
  return info && is_known(info->parent);
}

CallStacks Sampling::call_stacks() {
  State& state = *state_;
  return {.number =
              [&state](pid_t process, std::span<const CalledFunction> functions) {
                return state.observes(process) ? state.python.stack_of_call(process, functions) : 0;
              },
          .lines =
              [&state](std::uint32_t stack) {
                CallLines found;
                std::vector<const report::SourceLine*> lines;
                for (const StackedLine& one : state.python.stacks().lines_of(stack))
                  lines.push_back(&state.python.stacks().line(one.line));
                for (const report::SourceLine* line : lines) found.lines.push_back(*line);
                if (!lines.empty()) found.user = user_frame(lines);
                return found;
              }};
}

void Sampling::add_call(const TimedCall& call) { state_->lines.call(call); }

// The stacks, and the lines in them.
void Sampling::State::name_stacks(SampleProfile& profile) {
  CodeLines code;
  if (options.places || options.lines) {
    code.look_up(table.images, table.stacks,
                 options.places ? CodeLines::Of::kAllObjects : CodeLines::Of::kUsersObjects);
    if (!code.note().empty()) profile.notes.push_back(code.note());
  }
  SampleLines merged(table, code, python.stacks(), source_lines);
  LineProfile found = lines.finish(
      {.what_ran = [&](std::uint32_t native) { return table.what_ran(table.stacks.hit(native)); },
       .lines_of = [&](const LineSite& site) { return merged.of(site); },
       .lines = source_lines});
  if (options.stacks) table.add_stacks(found, python.stacks(), profile);
  if (options.places) profile.placed = placed_stacks(found, table, code, python.stacks());
  const std::vector<std::string> notes = python.notes();
  if (!options.lines || profile.samples == 0) {
    profile.notes.insert(profile.notes.end(), notes.begin(), notes.end());
    return;
  }
  found.versions = python.versions();
  found.notes = notes;
  found.unlined = merged.unlined();
  profile.by_line = std::move(found);
}

SampleProfile Sampling::finish() {
  State& state = *state_;
  state.rings.disable();
  for (const UniqueFd& event : state.followers) ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
  state.take(true);
  const bool broken = state.rings.broken();
  state.rings = Rings();
  state.followers.clear();

  SampleProfile profile = state.table.resolve(state.options);
  state.name_stacks(profile);
  spdlog::info("samples: {}; threads with events of their own: {}", state.table.images.spent(),
               state.opened.size());
  profile.hz = static_cast<double>(state.attr.sample_freq);
  profile.lost = state.lost;
  profile.kernel = state.attr.exclude_kernel == 0;
  profile.notes.insert(profile.notes.begin(), state.notes.begin(), state.notes.end());
  if (state.lost > 0) {
    profile.notes.push_back(fmt::format("{} records were lost: the rings were full", state.lost));
  }
  if (state.throttled > 0) {
    profile.notes.push_back(fmt::format(
        "the kernel paused sampling {} times, since it took too long", state.throttled));
  }
  if (broken) profile.notes.emplace_back("a ring held records that could not be read");
  return profile;
}

}  // namespace hwprof::observe
