// What is said of a program that was observed: the verdict on its BLAS with its evidence, then how
// it ran.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>

#include "counters/machine/affinity.h"
#include "counters/perf/reading.h"
#include "src/base/format.h"
#include "src/base/text.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/documents/inspect.h"
#include "src/report/documents/memory.h"
#include "src/report/documents/reasons.h"
#include "src/report/documents/threads.h"

namespace hwprof::report {
namespace {

constexpr int kSignalBase = 128;  // exit code of a command that a signal ended

std::string seconds_text(double seconds) { return significant(seconds, 3) + " s"; }

// "a; b", or `none` where both are empty.
std::string with_reason(std::string text, const std::string& reason) {
  if (reason.empty()) return text;
  return text.empty() ? reason : text + "; " + reason;
}

std::string exit_text(const Run& run) {
  if (run.attached_pid) {
    return run.detached ? fmt::format("process {} goes on; hwprof detached", *run.attached_pid)
                        : fmt::format("process {} has ended; its exit code is its parent's to know",
                                      *run.attached_pid);
  }
  if (run.exit <= kSignalBase) return fmt::format("{}", run.exit);
  // A program may also return such a number by itself; a shell cannot tell either.
  const char* name = ::sigabbrev_np(run.exit - kSignalBase);
  return name == nullptr
             ? fmt::format("{}", run.exit)
             : fmt::format("{} (128 + {}: SIG{})", run.exit, run.exit - kSignalBase, name);
}

// What stands beside every number that it changes.
std::string slowed_text(const Run& run) {
  if (!run.slowed_by_observing) return "";
  return fmt::format("slowed by observing: about {} %",
                     significant(100 * *run.slowed_by_observing, 2));
}

std::string time_text(const Run& run) {
  std::string text = "wall " + seconds_text(run.wall_s);
  if (run.user_s) text += ", user " + seconds_text(*run.user_s);
  if (run.system_s) text += ", system " + seconds_text(*run.system_s);
  if (run.cpus_used)
    text += fmt::format("; {} CPUs used on average", significant(*run.cpus_used, 3));
  if (run.repeats) text += "; of the observed run, without the repeated ones";
  return with_reason(std::move(text), slowed_text(run));
}

std::string memory_text(const Run& run) {
  if (!run.peak_rss_bytes) return "unknown: " + given(run.peak_rss_reason);
  return fmt::format("{} at most, in the largest process",
                     binary_bytes(static_cast<double>(*run.peak_rss_bytes)));
}

std::string declared_text(const Declared& declared) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : declared.environment) {
    environment.push_back(fmt::format("{}={}", name, value.empty() ? "\"\"" : value));
  }
  std::string text = !declared.environment_reason.empty() ? declared.environment_reason
                     : environment.empty()                ? "no variable that shapes a BLAS is set"
                                           : fmt::format("{}", fmt::join(environment, ", "));
  text += declared.default_library.empty()
              ? "; the loader has no libblas.so.3"
              : fmt::format("; libblas.so.3 is {} ({})", declared.default_library,
                            to_text(declared.default_provider));
  text += declared.needed.empty()
              ? "; the program's file names no BLAS"
              : fmt::format("; the program's file needs {}", fmt::join(declared.needed, ", "));
  return text;
}

std::string loaded_text(const std::vector<LoadedLibrary>& loaded) {
  if (loaded.empty()) return "no BLAS was mapped in any process that was looked at";
  std::vector<std::string> parts;
  for (const LoadedLibrary& library : loaded) {
    parts.push_back(fmt::format("{} ({}{})", library.path, to_text(library.provider),
                                library.serves_blas ? "" : ", no sgemm_ of its own"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string selected_text(const std::vector<ChosenCore>& selected) {
  if (selected.empty()) return "no library told which core it had chosen";
  std::vector<std::string> parts;
  for (const ChosenCore& core : selected) {
    std::string text(to_text(core.provider));
    if (!core.version.empty()) text += " " + core.version;
    text += core.core.empty() ? ": " + given(core.reason) : " chose " + core.core;
    if (!core.core.empty() && core.vector_class != VectorClass::kNone) {
      text += fmt::format(" ({})", to_text(core.vector_class));
    }
    if (core.threads) text += ", " + counted(static_cast<std::uint64_t>(*core.threads), "thread");
    if (!core.how.empty()) text += ", by the " + core.how;
    parts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string called_text(const Called& called) {
  if (called.how == "none") return "not watched: " + given(called.reason);
  std::uint64_t calls = 0;
  for (const CallSite& site : called.calls) calls += site.count;
  std::string text = called.calls.empty() ? "no call of a BLAS"
                                          : counted(calls, "call") +
                                                fmt::format(" of {}", called.calls.front().symbol);
  if (called.calls.size() > 1) text += " and others";
  text += fmt::format(", seen by {}", called.how == "uprobe" ? "uprobes"
                                      : called.how == "audit"
                                          ? "the loader's audit interface (LD_AUDIT)"
                                          : called.how);
  if (called.executions && called.executions_watched != called.executions) {
    text += fmt::format("; programs watched whole: {} of {}", called.executions_watched.value_or(0),
                        *called.executions);
  }
  if (called.lost > 0) {
    text += fmt::format("; {} records were lost: the counts are too low", called.lost);
  }
  for (const std::string& blind : called.blind_to) text += ". " + blind.substr(0, blind.rfind('.'));
  return called.reason.empty() ? text : text + ". " + called.reason;
}

std::string samples_text(const Executed& executed) {
  std::string text = fmt::format("{} at {} Hz", counted(executed.samples, "sample"),
                                 significant(executed.frequency_hz, 3));
  if (executed.lost > 0) text += fmt::format(", {} lost", executed.lost);
  std::vector<std::string> widths;
  for (const SampleShare& share : executed.vector_width) {
    const bool bits = !share.name.empty() && share.name.front() >= '0' && share.name.front() <= '9';
    widths.push_back(
        fmt::format("{} {}", percent(share.fraction), bits ? share.name + "-bit" : share.name));
  }
  if (!widths.empty()) text += fmt::format("; loops {}", fmt::join(widths, ", "));
  if (!executed.loops.empty()) {
    const LibraryLoops& hottest = executed.loops.front();
    text += fmt::format("; hottest {}", file_name(hottest.library));
    text += fmt::format(", {} on {}", percent(hottest.fraction),
                        counted(static_cast<std::uint64_t>(hottest.threads), "thread"));
    if (take_turns(hottest)) text += fmt::format(" ({:.1f} at once)", hottest.at_once);
    if (!hottest.symbol.empty())
      text +=
          fmt::format("; hottest symbol {}, {}", hottest.symbol, percent(hottest.symbol_fraction));
  }
  if (executed.whole_stacks)
    text += fmt::format("; {} of the stacks reach main or the start of their thread",
                        percent(*executed.whole_stacks));
  return text;
}

std::string executed_text(const Executed& executed) {
  const bool known = executed.samples > 0;
  std::string text = known ? samples_text(executed) : "not known: " + given(executed.reason);
  for (const std::string& note : executed.notes) text += "; " + note;
  return known ? with_reason(std::move(text), executed.reason) : text;
}

std::string rate_text(const Run& run) {
  const AchievedRate& rate = run.blas.evidence.achieved_rate;
  if (!rate.gflops) return "not known: " + given(rate.reason);
  std::string text = significant(*rate.gflops, 3) + " GFLOP/s";
  if (rate.peak_fraction) text += ", " + percent(*rate.peak_fraction) + " of the peak";
  if (rate.served_share)
    text += fmt::format("; covers {} of the BLAS time", percent(*rate.served_share));
  return with_reason(with_reason(with_reason(std::move(text), rate.how), rate.reason),
                     slowed_text(run));
}

// "up to 1.05 times faster for this program: BLAS is 5 % of its time and its calls are 4.2 times
// faster with SkylakeX (512-bit) of OpenBLAS"
std::string gain_text(const RunBlas& blas) {
  if (!loses_surely(blas) || blas.fastest.empty()) return "";
  const std::string times =
      fmt::format("{} times faster with {}", significant(*blas.factor, 2), blas.fastest);
  if (blas.factor_of == FactorOf::kSgemm)
    return fmt::format(
        ": a square sgemm product is {}; what this program's calls gain is not known", times);
  if (!blas.program_factor) return ": its calls are " + times;
  return fmt::format(
      ": up to {} times faster for this program: BLAS is {} % of its {} and its calls "
      "are {}",
      significant(*blas.program_factor, *blas.program_factor < 1.1 ? 3 : 2),
      significant(100 * *blas.blas_share, 2), blas.blas_share_of, times);
}

// "31 % (29 to 33)"
std::string share_text(const TimeShare& share) {
  return fmt::format("{} % ({} to {})", significant(100 * share.fraction, 2),
                     significant(100 * share.low, 2), significant(100 * share.high, 2));
}

// Where the BLAS is not what takes the time: "BLAS took 0.1 % (0.03 to 0.3) of the CPU time
// (sgemm_, optimal); oneDNN 31 % (29 to 33); waiting threads 37 % (35 to 39)".
std::string time_first_text(const RunBlas& blas) {
  constexpr double kWorthItsVerdict = 0.1;
  const auto& shares = blas.time_shares;
  if (shares.size() < 2 || shares.front().what != "BLAS" ||
      shares.front().fraction >= kWorthItsVerdict)
    return "";
  std::string symbol;
  for (const CallSite& site : blas.evidence.called.calls) {
    if (symbol.empty() && site.library == blas.path) symbol = site.symbol + ", ";
  }
  std::string text = fmt::format("BLAS took {} of the CPU time ({}{})", share_text(shares.front()),
                                 symbol, to_text(blas.verdict));
  for (std::size_t i = 1; i < shares.size(); ++i)
    text += fmt::format("; {} {}", shares[i].what, share_text(shares[i]));
  return text;
}

// "__sched_yield of libc.so.6 30 %"
std::string waiting_text(const Executed& executed) {
  constexpr std::size_t kMostPlaces = 3;
  std::vector<std::string> places;
  for (const SampleShare& share : executed.waiting) {
    if (places.size() == kMostPlaces) break;
    places.push_back(fmt::format("{} of {} {}", symbol_cell(share.name), file_name(share.library),
                                 percent(share.fraction)));
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

std::vector<Headline> run_headlines(const Run& run) {
  const RunBlas& blas = run.blas;
  const bool optimal = blas.verdict == VerdictKind::kOptimal;
  std::string text = verdict_heading(blas.verdict);
  text += gain_text(blas);
  // What the findings do not say: they speak of the work.
  const bool own_words = blas.verdict == VerdictKind::kWrongResults ||
                         blas.verdict == VerdictKind::kOverheadBound ||
                         blas.verdict == VerdictKind::kBorderline ||
                         (blas.verdict == VerdictKind::kInconclusive && !blas.findings.empty());
  text += own_words ? ": " + sentence(blas.why) + " " : ". ";
  std::vector<std::string> findings = blas.findings;
  if (findings.empty()) findings.push_back(blas.why.empty() ? "no evidence was found" : blas.why);
  std::vector<Headline> lines;
  if (run.exit != 0 && !run.attached_pid) {
    lines.push_back(
        {fmt::format("The command ended with exit code {}: this is about what it did until "
                     "then.",
                     exit_text(run)),
         false});
  }
  std::vector<Headline> of_threads =
      run.threads ? thread_headlines(*run.threads) : std::vector<Headline>();
  const bool threads_first = waits_much(run);
  if (threads_first) std::move(of_threads.begin(), of_threads.end(), std::back_inserter(lines));
  const std::string time_first = time_first_text(blas);
  if (!time_first.empty()) lines.push_back({sentence(time_first), optimal});
  bool first = true;
  for (const std::string& finding : findings) {
    lines.push_back({(first ? text : "") + sentence(finding), optimal || !first});
    first = false;
  }
  const auto waiting =
      std::find_if(blas.time_shares.begin(), blas.time_shares.end(),
                   [](const auto& share) { return share.what == "waiting threads"; });
  constexpr double kNotableWait = 0.02;
  if (waiting != blas.time_shares.end() && waiting->fraction >= kNotableWait) {
    const std::string pools = waiting_pools(run);
    lines.push_back(
        {fmt::format("Threads wait for others in {} of the CPU time: {}.", share_text(*waiting),
                     pools.empty() ? waiting_text(blas.evidence.executed) : pools),
         !waits_much(run)});
  }
  if (!threads_first) std::move(of_threads.begin(), of_threads.end(), std::back_inserter(lines));
  if (!blas.fix.empty()) lines.push_back({"", false, blas.fix});
  if (run.fix)
    for (Headline& line : fix_headlines(*run.fix)) lines.push_back(std::move(line));
  for (Headline& line : exact_headlines(run)) lines.push_back(std::move(line));
  return lines;
}

std::vector<Field> run_fields(const Run& run) {
  return {{"Exit", exit_text(run)},
          {"Time", time_text(run)},
          {"Memory", memory_text(run)},
          {"Pinned", run.pinned.empty() ? "no" : cpus_in_words(run.pinned)},
          {"Machine", machine_text(run.machine)},
          {"PMU", pmu_text(run.machine)}};
}

Table run_counters_table(const Run& run) {
  Table table{.title = "Counters, over all processes and threads",
              .columns = {{"event", true}, {"count"}, {"a second"}, {"coverage"}},
              .rows = {},
              .notes = {}};
  Reasons absent, remarks;
  for (const EventCount& count : run.counters) {
    const std::string& name = count.shown_as.empty() ? count.name : count.shown_as;
    if (!count.value) {
      absent.add(fmt::format("{}; {}", to_string(count.status), given(count.reason)), name);
      continue;
    }
    const bool time = count.unit == "ns";
    const bool rate = !time && run.wall_s > 0;
    table.rows.push_back({"",
                          {name, time ? duration(*count.value) : si(*count.value, ""),
                           rate ? si(*count.value / run.wall_s, "") : std::string(kAbsent),
                           count.coverage ? percent(*count.coverage) : std::string(kAbsent)}});
    if (!count.reason.empty()) remarks.add(count.reason, name);
    if (!count.implausible.empty()) remarks.add("cannot be right: " + count.implausible, name);
  }
  append(table.notes, remarks.sentences());
  append(table.notes, absent.sentences());
  return table;
}

std::vector<Field> evidence_fields(const Run& run) {
  const BlasEvidence& evidence = run.blas.evidence;
  return {
      {"Declared", declared_text(evidence.declared)},     {"Loaded", loaded_text(evidence.loaded)},
      {"Selected", selected_text(evidence.chosen_cores)}, {"Called", called_text(evidence.called)},
      {"Executed", executed_text(evidence.executed)},     {"Performing", rate_text(run)}};
}

// The levels of evidence that a reader asks for first; the rest is in the full form.
std::vector<Field> brief_evidence(const Run& run) {
  const BlasEvidence& evidence = run.blas.evidence;
  std::vector<Field> fields = {
      {"Exit", exit_text(run)}, {"Time", time_text(run)}, {"Machine", machine_text(run.machine)}};
  if (!evidence.chosen_cores.empty())
    fields.push_back({"Selected", selected_text(evidence.chosen_cores)});
  fields.push_back({"Called", called_text(evidence.called)});
  fields.push_back({"Executed", executed_text(evidence.executed)});
  fields.push_back({"Performing", rate_text(run)});
  const std::string threads = brief_threads(run);
  if (!threads.empty()) fields.push_back({"Threads", threads});
  const std::string ladder = ladder_text(run.blas.ladder);
  if (!ladder.empty() && loses_surely(run.blas)) fields.push_back({"Ladder", ladder});
  return fields;
}

Table marked(Table table, const Run& run) {
  const std::string mark = slowed_text(run);
  if (!mark.empty() && !table.rows.empty()) table.notes.push_back(mark);
  return table;
}

// Counted by the PMU; what the kernel counts of itself is worth no table in the brief form.
bool counted_by_pmu(const Run& run) {
  return std::any_of(run.counters.begin(), run.counters.end(), [](const EventCount& count) {
    return count.value && count.source != "kernel";
  });
}

std::string title_of(const Run& run) {
  return fmt::format("hwprof {}: {}", run.attached_pid ? "attach" : "run",
                     run.command.empty() ? "unknown" : file_name(run.command.front()));
}

// What the page draws; its sections have them before their tables.
void add_charts(const Run& run, Document& document) {
  if (!run.blas.evidence.executed.stacks.empty())
    document.in(Section::kHotspots)
        .add(Chart{"stacks", "Where the CPU time went, by sampled call stacks"});
  if (!run.modules.empty())
    document.in(Section::kLayers).add(Chart{"modules", "Self time of the layers, longest first"});
  add_region_charts(run.regions, document, is_one_timeline(run.regions, run.blas.evidence.called));
  add_ladder_chart(run.blas, document);
  if (run.repeats)
    document.in(Section::kNoise).add(Chart{"repeats", "Time of each repeated run, in their order"});
}

}  // namespace

Document run_document(const Run& run) {
  constexpr auto kBrief = Detail::kBrief, kFull = Detail::kFull, kBoth = Detail::kBoth;
  const BlasEvidence& evidence = run.blas.evidence;
  Document document{.title = title_of(run)};
  for (Headline& head : run_headlines(run)) document.add(std::move(head));
  document.in(Section::kMachine);
  document.add(Paragraph{fmt::format("hwprof {}, started {}", run.version, run.started_utc)},
               kFull);
  document.add(Paragraph{shell_command(run.command), Paragraph::Kind::kCommand});
  document.add(Fields{"Run", run_fields(run)}, kFull);
  document.in(Section::kVerdict).add(Fields{"", brief_evidence(run)}, kBrief);
  add_charts(run, document);
  document.in(Section::kNoise);
  if (run.fix) document.add(fix_table(*run.fix));
  if (run.repeats) document.add(repeats_table(*run.repeats)).add(outliers_table(*run.repeats));
  document.in(Section::kCounters)
      .add(exact_calls_table(run))
      .add(exact_call_functions_table(run), kFull)
      .add(run_counters_table(run), counted_by_pmu(run) ? kBoth : kFull);
  document.in(Section::kLayers).add(marked(modules_table(run, run.modules, false), run));
  document.add(modules_table(run, run.module_types, true));
  document.in(Section::kRegions)
      .add(marked(regions_table(run.regions), run), run.modules.empty() ? kBoth : kFull);

  document.in(Section::kVerdict)
      .add(Fields{"Evidence on the BLAS, level by level", evidence_fields(run)}, kFull);
  document.add(thread_fields(run), kFull);
  document.add(memory_fields(run), kFull);
  document.in(Section::kHotspots).add(marked(source_lines_table(run), run));
  document.add(marked(calls_table(evidence), run));
  document.add(lapack_table(evidence));
  document.add(primitives_table(evidence));
  document.add(transforms_table(evidence));
  if (!evidence.called.spans.empty() && !is_one_timeline(run.regions, evidence.called))
    document.add(Chart{"calls", "Calls of a BLAS over time, a lane a thread"});
  document.add(longest_calls_table(evidence), kFull);
  document.add(files_table(evidence.executed), kFull);
  document.add(symbols_table(evidence.executed), kFull);
  // Of what executed, whoever called it: of a library's header, of an interpreter.
  document.add(lines_table(evidence.executed), kFull);
  document.in(Section::kLadder).add(ladder_table(run.blas), kFull);
  document.in(Section::kNoise).add(warnings_of(run.warnings));
  return document;
}

Document verdict_document(const Run& run) {
  const RunBlas& blas = run.blas;
  const AchievedRate& rate = blas.evidence.achieved_rate;
  Document document{.title = title_of(run)};
  document.add(Paragraph{verdict_line(blas.verdict, blas, rate.gflops, rate.peak_fraction),
                         Paragraph::Kind::kLine});
  for (Headline& head : run_headlines(run)) document.add(std::move(head));
  if (run.exit != 0)
    document.add(Paragraph{fmt::format("The command's own exit code: {}.", run.exit),
                           Paragraph::Kind::kRemark});
  return document;
}

}  // namespace hwprof::report
