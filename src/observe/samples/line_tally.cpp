#include "src/observe/samples/line_tally.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace hwprof::observe {
namespace {

// The record of a call comes with its end: a sample waits so long for that of the call it lies in.
constexpr std::uint64_t kLongestCallNs = 60'000'000'000;
constexpr std::size_t kMostCells = 200'000, kMostCalls = 200'000;
constexpr std::size_t kMostPending = 300'000;  // of a thread, or of a process

template <class Samples>
auto within(Samples& samples, std::uint64_t began_ns, std::uint64_t ended_ns) {
  const auto begin = std::partition_point(samples.begin(), samples.end(), [&](const auto& sample) {
    return sample.time_ns < began_ns;
  });
  const auto end = std::partition_point(
      begin, samples.end(), [&](const auto& sample) { return sample.time_ns <= ended_ns; });
  return std::pair(begin, end);
}

template <class Cells, class Key>
bool has_room(const Cells& cells, const Key& key) {
  return cells.size() < kMostCells || cells.contains(key);
}

std::string reason_of(NoLine why, bool waiting) {
  switch (why) {
    case NoLine::kNotPython:
      return waiting ? "worker threads that waited"
                     : "system libraries, and code without line information";
    case NoLine::kUnknownPython:
      return "a Python whose frames hwprof cannot read";
    case NoLine::kWorker:
      return waiting ? "worker threads that waited"
                     : "worker threads beside several threads of Python";
    case NoLine::kNoFrame:
      return "the interpreter's own start and end";
    case NoLine::kLate:
      return "read too late to be sure";
    case NoLine::kMoved:
      return "the thread went on while it was read";
    case NoLine::kGone:
      return "the process had ended before it was read";
    case NoLine::kNoRoom:
    case NoLine::kNone:
      return "more different stacks than hwprof keeps";
  }
  return "";
}

}  // namespace

void LineTally::add(std::uint32_t native, pid_t pid, pid_t tid, std::uint64_t time_ns,
                    PythonRead read) {
  samples_ += 1;
  Pending sample{.native = native, .tid = tid, .time_ns = time_ns, .read = std::move(read)};
  process_of_[tid] = pid;
  for (const auto& [thread, stack] : sample.read.others) {
    process_of_[thread] = pid;
    seen_[thread].push_back({time_ns, sample.read.read_ns, stack});
  }
  auto& samples = !sample.of_python()                      ? native_[pid]
                  : sample.read.why_not == NoLine::kWorker ? workers_[pid]
                                                           : own_[tid];
  if (samples.size() >= kMostPending) {
    book(samples.front());
    samples.pop_front();
  }
  samples.push_back(std::move(sample));
}

void LineTally::settle(std::uint64_t time_ns) {
  const auto later =
      std::stable_partition(calls_.begin(), calls_.end(),
                            [&](const TimedCall& call) { return call.ended_ns <= time_ns; });
  for (auto call = calls_.begin(); call != later; ++call) apply(*call);
  calls_.erase(calls_.begin(), later);
  if (calls_.size() > kMostCalls) calls_.clear();
  if (time_ns > kLongestCallNs) expire(time_ns - kLongestCallNs);
}

// Where the thread stood while that call was open, as far as it was seen there.
LineSite LineTally::site_of(const TimedCall& call) const {
  LineSite site{.python = call.python, .in_call = true};
  const auto look = [&](const std::deque<Pending>& samples) {
    const auto [begin, end] = within(samples, call.began_ns, call.ended_ns);
    for (auto sample = begin; sample != end; ++sample) {
      if (sample->tid != call.thread) continue;
      const PythonRead& read = sample->read;
      if (site.native == LineSite::kNoStack) site.native = sample->native;
      if (site.python == 0 && (read.exact || read.read_ns <= call.ended_ns))
        site.python = read.stack;
    }
  };
  if (const auto own = own_.find(call.thread); own != own_.end()) look(own->second);
  if (const auto process = process_of_.find(call.thread); process != process_of_.end())
    if (const auto all = native_.find(process->second); all != native_.end()) look(all->second);
  if (site.python != 0) return site;
  if (const auto seen = seen_.find(call.thread); seen != seen_.end()) {
    const auto [begin, end] = within(seen->second, call.began_ns, call.ended_ns);
    for (auto look_at = begin; look_at != end && site.python == 0; ++look_at)
      if (look_at->read_ns <= call.ended_ns) site.python = look_at->stack;
  }
  return site;
}

// Of calls within calls the inner one comes first, and has the samples.
void LineTally::apply(const TimedCall& call) {
  const LineSite site = site_of(call);
  const auto take = [&](std::deque<Pending>& samples) {
    const auto [begin, end] = within(samples, call.began_ns, call.ended_ns);
    for (auto sample = begin; sample != end; ++sample) {
      const bool own = sample->tid == call.thread;
      if (sample->kind != kNoCall && (sample->in_own_call || !own)) continue;
      sample->kind = call.kind;
      sample->site = site;
      if (own) sample->site.native = sample->native;
      if (sample->read.exact) sample->site.python = sample->read.stack;
      sample->in_own_call = own;
      sample->inverse_ns =
          1 / static_cast<double>(std::max<std::uint64_t>(call.ended_ns - call.began_ns, 1));
    }
  };
  if (const auto own = own_.find(call.thread); own != own_.end()) take(own->second);
  const auto process = process_of_.find(call.thread);
  if (process == process_of_.end()) return;
  for (Samples* processes : {&workers_, &native_})
    if (const auto all = processes->find(process->second); all != processes->end())
      take(all->second);
}

void LineTally::leave_out(NoLine why, std::uint32_t native, double samples) {
  without_[{why, native}] += samples;
}

void LineTally::book(const Pending& sample) {
  const PythonRead& read = sample.read;
  if (sample.kind != kNoCall) {
    const InCall key{.site = sample.site,
                     .kind = sample.kind,
                     .native = sample.native,
                     .python = sample.of_python(),
                     .own = sample.in_own_call};
    if (!has_room(in_calls_, key)) return leave_out(NoLine::kNoRoom, sample.native, 1);
    LineCalls& calls = in_calls_[key];
    calls.samples += 1;
    if (!sample.in_own_call) return;
    calls.own_samples += 1;
    calls.inverse_ns += sample.inverse_ns;
    return;
  }
  const bool worker = read.why_not == NoLine::kWorker;
  const std::uint32_t stack = !worker                   ? read.stack
                              : read.others.size() == 1 ? read.others.front().second
                                                        : 0;
  auto& cells = worker ? by_workers_ : outside_;
  const std::pair key{stack, sample.native};
  const bool sure = stack != 0 && (worker || read.why_not == NoLine::kNone);
  if (sure && has_room(cells, key)) {
    cells[key] += 1;
  } else {
    leave_out(sure ? NoLine::kNoRoom : read.why_not, sample.native, 1);
  }
}

void LineTally::expire(std::uint64_t before_ns) {
  for (Samples* threads : {&own_, &workers_, &native_}) {
    for (auto& [number, samples] : *threads) {
      while (!samples.empty() && samples.front().time_ns < before_ns) {
        book(samples.front());
        samples.pop_front();
      }
    }
    std::erase_if(*threads, [](const auto& thread) { return thread.second.empty(); });
  }
  for (auto& [thread, looks] : seen_)
    while (!looks.empty() && looks.front().time_ns < before_ns) looks.pop_front();
  std::erase_if(seen_, [](const auto& thread) { return thread.second.empty(); });
}

// A thread that was no worker, but ran code of the user's while another one was in a call.
void LineTally::take_workers_lines(const Facts& facts) {
  std::erase_if(in_calls_, [&](const auto& cell) {
    const auto& [key, calls] = cell;
    if (key.python || key.own || facts.lines_of({.native = key.native}).lines.empty()) return false;
    leave_out(NoLine::kNotPython, key.native, calls.samples);
    return true;
  });
}

// Samples in calls in which nobody saw the thread: like those of the same routine and shape in
// which somebody did.
void LineTally::share_out(const Facts& facts) {
  const auto was_seen = [&](const InCall& key) {
    return key.python ? key.site.python != 0 : !facts.lines_of(key.site).lines.empty();
  };
  std::map<std::uint64_t, LineCalls> unproven;  // by kind
  std::map<std::uint64_t, double> proven;
  for (const auto& [key, calls] : in_calls_) {
    if (was_seen(key))
      proven[key.kind] += calls.samples;
    else
      unproven[key.kind] += calls;
  }
  for (auto cell = in_calls_.begin(); cell != in_calls_.end();) {
    auto& [key, calls] = *cell;
    const double all = proven[key.kind];
    const bool seen = was_seen(key);
    if (seen) {
      LineCalls part = unproven[key.kind];
      part *= calls.samples / all;
      calls += part;
    } else if (all == 0) {
      leave_out(key.python ? NoLine::kLate : NoLine::kNotPython, key.native, calls.samples);
    }
    cell = seen ? std::next(cell) : in_calls_.erase(cell);
  }
}

// As they were sampled: a stack is seen, and not shared out.
void LineTally::add_stacks(LineProfile& profile, const Facts& facts) const {
  const auto add = [&](std::uint32_t native, std::uint32_t stack, double samples) {
    profile.stacks[{native, stack}] += static_cast<std::uint64_t>(samples);
  };
  for (const auto& [key, calls] : in_calls_) add(key.native, key.site.python, calls.samples);
  for (const auto& [key, samples] : outside_) add(key.second, key.first, samples);
  for (const auto& [key, samples] : by_workers_)
    add(key.second, facts.what_ran(key.second) == kWaiting ? 0 : key.first, samples);
  for (const auto& [key, samples] : without_) add(key.second, 0, samples);
}

LineProfile LineTally::finish(const Facts& facts) {
  settle(~std::uint64_t{0});
  expire(~std::uint64_t{0});

  LineProfile profile;
  profile.samples = samples_;
  add_stacks(profile, facts);
  take_workers_lines(facts);
  share_out(facts);
  std::map<std::uint32_t, LineSamples> lines;
  // Samples at lines of which there are some; gives the line that has them as its own.
  const auto add = [&](const LineStack& stack, double samples) -> LineSamples& {
    const std::set<std::uint32_t> once(stack.lines.begin(), stack.lines.end());  // recursion
    for (const std::uint32_t number : once) lines[number].total += samples;
    LineSamples& line = lines[stack.lines.front()];
    line.self += samples;
    profile.with_line += samples;
    return line;
  };
  const auto add_part = [&](const LineStack& stack, std::uint32_t native, double samples) {
    std::string name = facts.what_ran(native);
    if (stack.own_code && name != kWaiting) name = kOwnCode;
    add(stack, samples).parts[name] += samples;
  };
  for (const auto& [key, calls] : in_calls_)
    add(facts.lines_of(key.site), calls.samples).calls[key.kind] += calls;
  for (const auto& [key, samples] : outside_)
    add_part(facts.lines_of({.native = key.second, .python = key.first}), key.second, samples);
  for (const auto& [key, samples] : by_workers_) {
    // One that waits waits for the line only where it was sent by it.
    if (facts.what_ran(key.second) == kWaiting &&
        facts.lines_of({.native = key.second}).lines.empty()) {
      profile.without[reason_of(NoLine::kWorker, true)] += samples;
    } else {
      add_part(facts.lines_of({.native = key.second, .python = key.first}), key.second, samples);
    }
  }
  for (const auto& [key, samples] : without_) {
    const LineStack stack = facts.lines_of({.native = key.second});
    if (!stack.lines.empty()) {
      add_part(stack, key.second, samples);
      continue;
    }
    const bool asks = key.first == NoLine::kWorker || key.first == NoLine::kNotPython;
    const bool waiting = asks && facts.what_ran(key.second) == kWaiting;
    profile.without[reason_of(key.first, waiting)] += samples;
  }
  for (auto& [number, line] : lines) {
    line.line = facts.lines.line(number);
    profile.lines.push_back(std::move(line));
  }
  std::stable_sort(profile.lines.begin(), profile.lines.end(),
                   [](const LineSamples& a, const LineSamples& b) {
                     return std::pair(a.self, a.total) > std::pair(b.self, b.total);
                   });
  return profile;
}

}  // namespace hwprof::observe
