#include "src/commands/run/evidence.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/blas/evidence/called.h"
#include "src/blas/evidence/executed.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/evidence/loaded.h"
#include "src/commands/run/lines.h"
#include "src/measure/thread_use.h"
#include "src/observe/proc/memory_watch.h"
#include "src/observe/samples/sampling.h"
#include "src/observe/threads/thread_watch.h"

namespace hwprof {

struct Evidence::State {
  observe::SamplingOptions sampling_options;
  report::BlasEvidence found;
  std::optional<blas::CallWatch> calls;
  std::optional<observe::Sampling> sampling;
  std::optional<blas::LiveWatch> live;
  std::optional<observe::ThreadWatch> threads;
  std::optional<observe::MemoryWatch> memory;

  void open_sampling(pid_t pid, bool on_exec);
  void drain();
  report::ThreadUse use_of_threads(const observe::SampleProfile& profile,
                                   const observe::ThreadFacts& facts, const report::Run& record);
};

Evidence::Evidence(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evidence::Evidence(Evidence&&) noexcept = default;
Evidence& Evidence::operator=(Evidence&&) noexcept = default;
Evidence::~Evidence() = default;

Evidence Evidence::prepare(const RunRequest& request) {
  auto state = std::make_unique<State>();
  state->found.declared =
      request.attach ? blas::declared_of(*request.attach) : blas::declared(request.command);
  state->sampling_options = {.hz = request.frequency_hz,
                             .stacks = request.stacks,
                             .unwind = request.stacks,
                             .lines = request.lines,
                             .python = request.stacks || request.lines,
                             .places = request.places};
  if (request.calls) {
    state->calls = blas::CallWatch::prepare({.command = request.command,
                                             .attach = request.attach,
                                             .allow_uprobes = request.calls_by != CallsBy::kAudit,
                                             .allow_audit = request.calls_by != CallsBy::kUprobes,
                                             .both = request.calls_by == CallsBy::kBoth,
                                             .modules = request.layers,
                                             .exact = request.exact});
  } else {
    state->found.called.reason = "not watched (--no-calls)";
  }
  if (!request.samples) state->found.executed.reason = "not sampled (--no-samples)";
  return Evidence(std::move(state));
}

std::vector<std::string> Evidence::environment() const {
  return state_->calls ? state_->calls->environment() : std::vector<std::string>{};
}

blas::CallWatch::ByModule Evidence::calls_by_module() const {
  if (state_->calls) return state_->calls->take_by_module();
  return {.calls = {}, .unplaced = 0, .reason = "calls were not watched (--no-calls)"};
}

void Evidence::attach(pid_t pid, bool on_exec) {
  state_->live.emplace(pid);
  state_->memory.emplace(pid);
  if (state_->calls) state_->calls->attach(pid);
  if (state_->found.executed.reason.empty()) state_->open_sampling(pid, on_exec);
  if (state_->calls && state_->sampling && state_->sampling_options.python)
    state_->calls->read_stacks_by(state_->sampling->call_stacks());
  // Last: its clocks are what the samples of a running process are held against.
  state_->threads.emplace(pid, on_exec);
}

void Evidence::State::open_sampling(pid_t pid, bool on_exec) {
  auto opened = observe::Sampling::open(pid, on_exec, sampling_options);
  if (opened) {
    sampling = *std::move(opened);
  } else {
    found.executed.reason = in_words(opened.error());
  }
}

std::vector<int> Evidence::descriptors() const {
  std::vector<int> all;
  if (state_->calls) all = state_->calls->descriptors();
  if (state_->sampling) {
    const std::vector<int> rings = state_->sampling->descriptors();
    all.insert(all.end(), rings.begin(), rings.end());
  }
  return all;
}

void Evidence::drain() { state_->drain(); }

// Samples first: what they are of may be over soon.
void Evidence::State::drain() {
  if (sampling) sampling->drain();
  if (!calls) return;
  std::vector<observe::TimedCall> ended;
  const bool wanted = sampling && sampling_options.python;
  calls->drain(wanted ? &ended : nullptr);
  for (const observe::TimedCall& call : ended) sampling->add_call(call);
}

void Evidence::look() {
  if (state_->live) state_->live->poll();
  if (state_->threads) {
    state_->threads->look([&](pid_t pid, pid_t tid, std::uint64_t address) {
      return !state_->sampling || state_->sampling->begins_at(pid, tid, address);
    });
  }
  drain();
  if (state_->memory) state_->memory->look();
}

report::ThreadUse Evidence::State::use_of_threads(const observe::SampleProfile& profile,
                                                  const observe::ThreadFacts& facts,
                                                  const report::Run& record) {
  std::optional<double> cpu_ns;
  if (record.attached_pid && !facts.threads.empty()) {
    // What /proc counts of it in clock ticks begins before the samples do.
    cpu_ns = 0;
    for (const observe::BusyThread& thread : facts.threads) *cpu_ns += thread.times.run_ns;
  } else if (record.user_s && record.system_s) {
    cpu_ns = 1e9 * (*record.user_s + *record.system_s);
  }
  return thread_use({.samples = profile,
                     .no_samples = sampling ? "" : found.executed.reason,
                     .facts = facts,
                     .cpu_ns = cpu_ns,
                     .online = online_cpus().value_or(facts.allowed).size(),
                     .blas_calls = openblas_calls(found.called.calls),
                     .callers = calls ? calls->callers() : std::vector<observe::CallingThread>()});
}

void Evidence::finish(report::Run& record, const std::vector<pid_t>& left) {
  report::BlasEvidence& found = state_->found;
  state_->drain();
  // First: judging samples takes time that is none of the program's.
  std::optional<observe::ThreadFacts> facts;
  if (state_->threads) facts = state_->threads->finish();
  if (state_->memory) record.memory = state_->memory->finish();
  if (state_->calls) found.called = state_->calls->finish(left, record.exit);
  if (state_->live) {
    found.loaded = state_->live->loaded();
    blas::add_called_libraries(found.called, found.loaded);
    found.chosen_cores = state_->live->chosen_cores();
  }
  if (state_->calls) {
    blas::CallWatch::Exact exact = state_->calls->take_exact();
    record.exact = std::move(exact.calls);
    record.exact_reason = std::move(exact.reason);
    if (!exact.note.empty()) record.warnings.push_back({"exact", std::move(exact.note)});
  }
  observe::SampleProfile profile;
  if (state_->sampling) {
    profile = state_->sampling->finish();
    found.executed = blas::executed(profile);
  }
  if (facts) record.threads = state_->use_of_threads(profile, *facts, record);
  record.blas.evidence = std::move(found);
  add_lines(profile, state_->calls ? state_->calls->kinds() : std::vector<observe::CallKind>(),
            record);
}

}  // namespace hwprof
