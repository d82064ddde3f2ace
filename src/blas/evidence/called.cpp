#include "src/blas/evidence/called.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "src/blas/evidence/call_candidates.h"
#include "src/blas/evidence/missed_calls.h"
#include "src/blas/exact/exact_calls.h"
#include "src/blas/providers/providers.h"
#include "src/exact/exact.h"
#include "src/observe/audit/float_flags.h"
#include "src/observe/calls/audit.h"
#include "src/observe/calls/execution_watch.h"
#include "src/observe/calls/probes.h"
#include "src/observe/calls/routine_file.h"
#include "src/observe/calls/shape_counts.h"
#include "src/observe/calls/uprobes.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof::blas {

struct CallWatch::State {
  bool to_running = false, modules = false;
  ByModule by_module;
  CommandFiles files;
  std::unique_ptr<observe::Uprobes> uprobes;
  std::unique_ptr<observe::Audit> audit;
  std::optional<observe::ExecutionWatch> executions;  // beside the audit library
  report::Called called;
  std::vector<observe::CallKind> kinds;
  std::vector<observe::CallingThread> callers;
  std::optional<observe::ExactWish> exact_wish;
  std::optional<ExactCalls> exact_calls;
  Exact exact;
};

namespace {

Result<void> define_all(observe::Uprobes& uprobes, const CommandFiles& files) {
  for (const std::string& path : files.candidates) {
    const auto file = observe::open_routine_file(path);
    if (!file) {
      uprobes.beware_of_exceptions(observe::open_regular_file(path).get(), path);
      continue;
    }
    if (auto added = uprobes.add(*file); !added) return added;
  }
  return {};
}

std::unique_ptr<observe::Uprobes> set_uprobes(const CommandFiles& files, bool timed,
                                              std::string& reason) {
  auto uprobes = observe::Uprobes::open(timed);
  if (!uprobes) {
    reason = uprobes.error().what;
    return nullptr;
  }
  if (auto defined = define_all(*uprobes, files); !defined) {
    reason = defined.error().what;
    return nullptr;
  }
  return std::make_unique<observe::Uprobes>(std::move(*uprobes));
}

std::unique_ptr<observe::Audit> set_audit(std::string& reason) {
  const auto library = observe::find_audit_library();
  auto audit = library ? observe::Audit::create(*library) : error_of(library);
  if (audit) return std::make_unique<observe::Audit>(std::move(*audit));
  reason += (reason.empty() ? "" : "; ") + audit.error().what;
  return nullptr;
}

// Why the program itself, not one that it starts, ignores LD_AUDIT.
std::string ignores_audit(const CommandFiles& files) {
  if (files.program.empty()) return {};
  if (files.setuid) return fmt::format("{} is setuid, and ignores LD_AUDIT", files.program);
  if (files.interpreter.empty()) return fmt::format("{} is static", files.program);
  if (files.interpreter.find("ld-musl") != std::string::npos) {
    return fmt::format("{} uses musl, whose loader knows no LD_AUDIT", files.program);
  }
  return {};
}

using ExecutionCount = observe::ExecutionWatch::Count;

// Of the mapped files those whose own code may have called a routine in them: a library of a BLAS
// does so in LAPACK and in other functions that are not counted. One that only has the name of a
// BLAS and exports none may do so in each. Files that cannot be looked at are among them.
// `counted`: some of the program's code ran in copies of it.
std::vector<std::string> find_own_routines(const std::set<std::string>& files, bool counted,
                                           const std::map<std::string, bool>& blas_files,
                                           const report::Called& called) {
  std::vector<std::string> own;
  const std::string copies = fmt::format("/memfd:{} ", exact::kCodeFile);
  for (const std::string& path : files) {
    if (counted && path.starts_with(copies)) continue;
    const auto blas = blas_files.find(path);
    const bool served_more =
        blas == blas_files.end() || blas->second ||
        std::any_of(called.lapack.begin(), called.lapack.end(),
                    [&](const report::CallSite& site) { return site.library == path; });
    const bool is_blas = is_library_of_blas(path);
    if (is_blas && !served_more) continue;
    // LAPACK without a BLAS in it has some by such names all the same: crot_, csymv_.
    if (observe::may_hold_routines(path, is_blas)) own.push_back(path);
  }
  return own;
}

// Calls of this many FLOP are work, whatever else there was: no need to look into all files.
constexpr double kWorkFlops = 1e6;

bool is_work(const report::CallSite& site) { return site.flops.value_or(kWorkFlops) >= kWorkFlops; }

template <class Call>
double calls_in(const std::vector<Call>& calls) {
  double sum = 0;
  for (const Call& call : calls) sum += static_cast<double>(call.count);
  return sum;
}

void finish_audit(observe::Audit& audit, const CommandFiles& files,
                  const std::optional<ExecutionCount>& executions, report::Called& called,
                  CallWatch::ByModule& by_module, std::vector<observe::CallKind>& kinds,
                  std::vector<observe::CallingThread>& callers) {
  const std::string ignored = ignores_audit(files);
  if (executions) {
    called.executions = executions->all;
    called.executions_going_on = executions->going_on;
    // Of those that go on some may not have taken part: no more than this were watched whole.
    const std::uint64_t took_part = std::min(executions->all, audit.processes());
    called.executions_watched = took_part - std::min(took_part, executions->going_on);
  }
  if (audit.processes() == 0) {
    called.reason +=
        fmt::format("{}no process took the audit library{}", called.reason.empty() ? "" : "; ",
                    ignored.empty() ? "" : ": " + ignored);
    return;
  }
  called.how = "audit";
  if (!observe::audit::kTellsFloatFlags)
    called.numbers_reason = "the flags of this architecture do not tell denormal numbers";
  observe::AuditedCalls found = audit.finish();
  called.calls = std::move(found.sites);
  called.lapack = std::move(found.lapack);
  called.primitives = std::move(found.primitives);
  called.transforms = std::move(found.transforms);
  called.wall_ns = found.wall_ns;
  by_module.calls = std::move(found.of_modules);
  by_module.unplaced = audit.unplaced();
  kinds = std::move(found.kinds);
  callers = std::move(found.callers);
  called.spans = std::move(found.spans);
  called.spans_begin_ns = found.spans_begin_ns;
  called.spans_note = std::move(found.spans_note);
  called.lines_reason = std::move(found.lines_reason);
  // Those of oneDNN are among `calls`.
  called.added_ns = observe::kAuditNs * calls_in(called.calls) +
                    (observe::kPrimitiveNs - observe::kAuditNs) * calls_in(called.primitives) +
                    observe::kTransformNs * calls_in(called.transforms);
  if (!ignored.empty()) called.blind_to.push_back(ignored + ".");
  const std::uint64_t exact = std::min(audit.exact_tally().handed_over, found.open);
  if (exact > 0)
    called.blind_to.push_back(fmt::format(
        "{} ran while {} counted exactly, and {} no time that means anything.", calls_text(exact),
        exact == 1 ? "it was" : "they were", exact == 1 ? "has" : "have"));
  if (found.open > exact) {
    called.blind_to.push_back(
        fmt::format("{} did not return (an exception, a longjmp or the end of the program), or the "
                    "program lets nobody read the clock: the time inside those is not known.",
                    calls_text(found.open - exact)));
  }
  if (audit.unwatched() > 0) {
    called.executions_watched.reset();
    called.blind_to.push_back(fmt::format(
        "{} bindings were not watched: the table is full, the loader told of them too late, or has "
        "copied their addresses for threads.",
        audit.unwatched()));
  }
}

void finish_uprobes(observe::Uprobes& uprobes, const std::vector<pid_t>& left, int exit_code,
                    report::Called& called) {
  called.how = "uprobe";
  called.numbers_reason = "uprobes read neither the flags of a call nor its operands";
  called.calls = uprobes.finish(left);
  called.wall_ns = uprobes.wall_ns();
  called.lost = uprobes.lost();
  called.added_ns = uprobes.added_ns();
  called.elsewhere = uprobes.elsewhere();
  const observe::Executions& executions = uprobes.executions();
  if (executions.complete()) {
    called.executions = executions.count();
    called.executions_watched = executions.watched();
    called.executions_going_on = executions.going_on();
  }
  called.blind_to = uprobes.notes();
  // The kernel knows a breakpoint of its own by its address: a copy of the code stops the program.
  if (exit_code == 128 + SIGTRAP) {
    if (called.executions_watched == executions.count()) --*called.executions_watched;
    called.blind_to.emplace_back(
        "The command ended by SIGTRAP: where it runs a copy of code that uprobes watch, they are "
        "the cause, and --no-calls leaves them out.");
  }
  called.blind_to.emplace_back(
      "Routines without a symbol (a static BLAS in a stripped file) are not seen.");
}

constexpr char kBlindToOwnCalls[] =
    "Calls within one library and into static code are not seen: the dynamic loader binds none.";

// Why of the calls that were to be counted exactly some have no count, or there are none.
std::string missing_counts(const observe::ExactWish& wish, const observe::Audit::ExactTally& tally,
                           std::size_t counts, const report::Called& called) {
  if (tally.calls < wish.first && wish.of_region) {
    return fmt::format(
        "the region {} was {}, as far as the libhwprof of the program told", wish.name,
        tally.calls == 0 ? "never entered" : fmt::format("entered {} times only", tally.calls));
  }
  if (tally.calls < wish.first) {
    std::set<std::string> symbols;
    for (const auto* calls : {&called.calls, &called.lapack})
      for (const report::CallSite& site : *calls) symbols.insert(site.symbol);
    symbols.erase(wish.name);
    return fmt::format(
        "{} was {}, as far as calls are seen{}", wish.name,
        tally.calls == 0 ? "never called" : fmt::format("called {} times only", tally.calls),
        symbols.empty() ? "" : fmt::format("; called were {}", fmt::join(symbols, ", ")));
  }
  std::string reason;
  const auto add = [&](std::uint64_t calls, const char* why) {
    if (calls == 0) return;
    const std::string what = wish.of_region
                                 ? fmt::format("{} entr{}", calls, calls == 1 ? "y" : "ies")
                                 : calls_text(calls);
    reason += fmt::format("{}{} {}", reason.empty() ? "" : "; ", what, why);
  };
  add(tally.without_counter,
      "came from a process without libhwprof-exact (it changed LD_PRELOAD, or ignores it)");
  add(tally.filtered,
      "came from a process that limits its system calls (seccomp): counting needs more of them");
  add(tally.handed_over - std::min<std::uint64_t>(tally.handed_over, counts),
      "left no count: it did not return (an exception, a longjmp, the end of the program), or the "
      "process could not write where hwprof reads (a full disk, a limit on the size of its files, "
      "another root)");
  return reason;
}

// A call is in the table before it can leave a count: a file beyond those is none of hwprof's own,
// and which of them it is they do not tell.
std::string why_none_is_believed(const observe::Audit::ExactTally& tally, std::size_t counts) {
  if (counts <= tally.handed_over) return {};
  return fmt::format(
      "{} where hwprof reads them, and {} was to leave one: none of them is believed",
      counts == 1 ? "1 count lies" : fmt::format("{} counts lie", counts),
      tally.handed_over == 0 ? "no call" : calls_text(tally.handed_over) + " alone");
}

// The table of the audit library is opened by its place among our descriptors. Those of a worker
// with the rights of the user whom root has named (--user) are closed to that user's other
// processes.
bool programs_reach_descriptors() { return ::geteuid() == 0 || ::prctl(PR_GET_DUMPABLE) == 1; }

}  // namespace

CallWatch::CallWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
CallWatch::CallWatch(CallWatch&&) noexcept = default;
CallWatch& CallWatch::operator=(CallWatch&&) noexcept = default;
CallWatch::~CallWatch() = default;

CallWatch CallWatch::prepare(const CallWatchOptions& options) {
  auto state = std::make_unique<State>();
  std::string& reason = state->called.reason;
  state->to_running = options.attach.has_value();
  state->modules = options.modules;
  state->exact_wish = options.exact;
  // Of a running process, the mapped files are known.
  if (!state->to_running) state->files = command_files(options.command);
  // A call that the audit library times costs the program some 60 ns, a probe 3 us.
  const bool audit = options.allow_audit && !state->to_running && programs_reach_descriptors();
  if (audit && ignores_audit(state->files).empty()) state->audit = set_audit(reason);
  if (state->audit && options.exact) {
    state->audit->count_exactly(*options.exact);
    auto calls = ExactCalls::prepare();
    if (calls)
      state->exact_calls = *std::move(calls);
    else
      state->exact.reason = calls.error().what;
  }
  if (state->audit && options.both) {
    // Of these calls the stubs know the time.
    std::string missing;
    state->uprobes = set_uprobes(state->files, false, missing);
    if (!state->uprobes) reason = "nothing was held against uprobes: " + missing;
  }
  if (state->audit) return CallWatch(std::move(state));
  if (options.allow_uprobes) state->uprobes = set_uprobes(state->files, true, reason);
  if (state->uprobes) return CallWatch(std::move(state));
  if (state->to_running) {
    reason += std::string(reason.empty() ? "" : "; ") +
              "a program that already runs cannot be told to load the audit library";
  } else if (!programs_reach_descriptors()) {
    reason += std::string(reason.empty() ? "" : "; ") +
              "with --user the program cannot reach the table of the audit library";
  } else if (audit) {
    state->audit = set_audit(reason);  // what the program starts may take it
  }
  return CallWatch(std::move(state));
}

std::vector<std::string> CallWatch::environment() const {
  if (!state_->audit) return {};
  std::uint64_t thread_bytes = 0;
  for (const std::string& path : state_->files.candidates)
    thread_bytes += observe::ElfFile(path).fixed_thread_bytes();
  std::vector<std::string> variables = state_->audit->environment(thread_bytes);
  if (state_->modules) variables.push_back(observe::Audit::modules_variable());
  if (state_->exact_calls)
    for (std::string& variable : state_->exact_calls->environment())
      variables.push_back(std::move(variable));
  return variables;
}

void CallWatch::attach(pid_t pid) {
  State& state = *state_;
  if (state.audit) {
    auto executions = observe::ExecutionWatch::open(pid);
    if (executions) {
      state.executions = *std::move(executions);
    } else {
      state.called.blind_to.push_back(executions.error().what + ".");
    }
  }
  if (!state.uprobes) return;
  if (auto attached = state.uprobes->attach(pid, !state.to_running); !attached) {
    state.called.reason = attached.error().what;
    state.uprobes.reset();
  }
}

std::vector<int> CallWatch::descriptors() const {
  if (state_->executions) return state_->executions->descriptors();
  return state_->uprobes ? state_->uprobes->descriptors() : std::vector<int>{};
}

void CallWatch::drain(std::vector<observe::TimedCall>* ended) {
  if (state_->audit) state_->audit->drain(ended);
  if (state_->executions) state_->executions->drain();
  if (state_->uprobes) state_->uprobes->drain();
}

void CallWatch::read_stacks_by(observe::CallStacks stacks) {
  if (state_->audit) state_->audit->read_stacks_by(std::move(stacks));
}

report::Called CallWatch::finish(const std::vector<pid_t>& left, int exit_code) {
  State& state = *state_;
  if (state.audit) {
    const auto executions = state.executions ? state.executions->finish(left) : std::nullopt;
    finish_audit(*state.audit, state.files, executions, state.called, state.by_module, state.kinds,
                 state.callers);
    bool all_seen = false;
    if (state.called.how == "audit" && state.uprobes)
      all_seen = add_missed(*state.uprobes, *state.audit, left, state.called);
    else if (state.called.how == "audit")
      state.called.blind_to.emplace_back(kBlindToOwnCalls);
    const auto& calls = state.called.calls;
    if (state.called.how == "audit" && executions && !all_seen &&
        std::none_of(calls.begin(), calls.end(), is_work))
      state.called.own_routines =
          find_own_routines(state.executions->files(), state.exact_calls.has_value(),
                            state.audit->blas_files(), state.called);
  }
  if (state.uprobes && state.called.how == "none")
    finish_uprobes(*state.uprobes, left, exit_code, state.called);
  if (state.called.how == "uprobe")
    state.by_module.reason = "uprobes do not tell the module that a call was made in";
  else if (state.called.how == "none")
    state.by_module.reason = state.called.reason;
  if (state.called.how == "none") state.called.numbers_reason = state.called.reason;
  if (state.exact_calls) {
    state.exact.calls = state.exact_calls->read();
    if (const auto variables = ExactCalls::one_thread(); !variables.empty())
      state.exact.note = fmt::format(
          "all of this is of a run with {}: --exact sets them, since it counts what one thread "
          "does",
          fmt::join(variables, ", "));
    const auto tally = state.audit->exact_tally();
    const std::string forged = why_none_is_believed(tally, state.exact.calls.size());
    if (!forged.empty()) state.exact.calls.clear();
    state.exact.reason =
        state.called.how == "none"
            ? state.called.reason
            : missing_counts(*state.exact_wish, tally, state.exact.calls.size(), state.called);
    if (!forged.empty()) state.exact.reason += (state.exact.reason.empty() ? "" : "; ") + forged;
  } else if (state.exact_wish && state.exact.reason.empty()) {
    const std::string ignored = ignores_audit(state.files);
    state.exact.reason = fmt::format("only calls that LD_AUDIT sees can be counted{}",
                                     !ignored.empty()                ? ", and " + ignored
                                     : !programs_reach_descriptors() ? ", which --user leaves out"
                                     : !state.called.reason.empty()  ? ": " + state.called.reason
                                                                     : "");
  }
  state.uprobes.reset();
  state.audit.reset();
  return std::move(state.called);
}

CallWatch::ByModule CallWatch::take_by_module() const { return std::move(state_->by_module); }

CallWatch::Exact CallWatch::take_exact() const { return std::move(state_->exact); }

const std::vector<observe::CallKind>& CallWatch::kinds() const { return state_->kinds; }
const std::vector<observe::CallingThread>& CallWatch::callers() const { return state_->callers; }

std::optional<double> slowed_by_watching(const report::Called& called, double cpu_ns) {
  constexpr double kNoticed = 0.05;
  const double added = called.added_ns.value_or(0);
  // What was added is in the time that was measured; an estimate that exceeds it is too high.
  const double slowed = added / std::max(cpu_ns - added, cpu_ns / 20);
  return cpu_ns > 0 && slowed >= kNoticed ? std::optional(slowed) : std::nullopt;
}

}  // namespace hwprof::blas
