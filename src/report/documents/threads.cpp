#include "src/report/documents/threads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/format.h"
#include "src/base/text.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr double kMuch = 0.2, kNotable = 0.02;
constexpr std::size_t kMostPools = 3;

double waiting(const ThreadUse& threads) {
  return threads.spin_share.value_or(0) + threads.idle_worker_share.value_or(0);
}

// "arithmetic 41 %, other work 20 %, spinning 36 %, idle workers 3 %; 98 % of it sampled"
std::string cpu_text(const ThreadUse& threads) {
  if (!threads.spin_share) return "not known: " + given(threads.spin_reason);
  std::string text = fmt::format(
      "arithmetic {}, other work {}, spinning {}, idle workers {}",
      percent(threads.arithmetic_share.value_or(0)), percent(threads.other_share.value_or(0)),
      percent(*threads.spin_share), percent(threads.idle_worker_share.value_or(0)));
  if (threads.coverage) text += fmt::format("; {} of it sampled", percent(*threads.coverage));
  if (threads.estimated) text += "; what sched_yield took inside the kernel is estimated";
  return text;
}

// Reports of earlier versions have no `run_ns`.
std::string states(const std::optional<double>& run_ns, double ready_ns,
                   const std::optional<double>& blocked_ns) {
  return (run_ns ? fmt::format("running {}, ", duration(*run_ns)) : std::string()) +
         fmt::format("ready without a CPU {}, blocked {}", duration(ready_ns),
                     duration(blocked_ns.value_or(0)));
}

// "running 2.1 s, ready without a CPU 1.2 s, blocked 3.4 s; throttled by a quota 0 s"
std::string state_text(const ThreadUse& threads) {
  std::string text = threads.ready_ns
                         ? states(threads.run_ns, *threads.ready_ns, threads.blocked_ns)
                         : "not known: " + given(threads.clocks_reason);
  text += threads.throttled_ns
              ? "; throttled by a quota " + duration(*threads.throttled_ns)
              : "; whether a quota throttles it is not known: " + given(threads.throttled_reason);
  return text;
}

std::string pools_text(const ThreadUse& threads) {
  std::vector<std::string> parts;
  for (const ThreadPool& pool : threads.pools) {
    parts.push_back(fmt::format("{}: {}", pool.name,
                                counted(static_cast<std::size_t>(pool.threads), "thread")));
    if (pool.spin_share > 0)
      parts.back() += fmt::format(", waits in {} of the CPU time", percent(pool.spin_share));
    if (pool.ready_ns) parts.back() += ", " + states(pool.run_ns, *pool.ready_ns, pool.blocked_ns);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::vector<Headline> thread_headlines(const ThreadUse& threads) {
  std::vector<Headline> lines;
  for (const ThreadSentence& said : threads.sentences) {
    std::string text = said.text;
    if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
      text.front() = static_cast<char>(text.front() - 'a' + 'A');
    lines.push_back({sentence(fmt::format("{} ({})", text, said.evidence)), false, said.fix});
  }
  return lines;
}

bool waits_much(const Run& run) { return run.threads && waiting(*run.threads) >= kMuch; }

std::string waiting_pools(const Run& run) {
  std::vector<std::string> parts;
  if (!run.threads) return "";
  for (const ThreadPool& pool : run.threads->pools) {
    if (parts.size() < kMostPools && pool.spin_share > 0)
      parts.push_back(pool.name + " " + percent(pool.spin_share));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Fields thread_fields(const Run& run) {
  Fields fields{.title = "Threads"};
  if (!run.threads) return fields;
  fields.rows = {{"CPU time", cpu_text(*run.threads)}, {"Wall time", state_text(*run.threads)}};
  if (!run.threads->pools.empty()) fields.rows.push_back({"Pools", pools_text(*run.threads)});
  return fields;
}

std::string brief_threads(const Run& run) {
  const bool worth =
      run.threads && (waiting(*run.threads) >= kNotable || !run.threads->sentences.empty());
  return worth ? cpu_text(*run.threads) : "";
}

}  // namespace hwprof::report
