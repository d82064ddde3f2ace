#include "src/observe/samples/line_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace hwprof::observe {
namespace {

// The record of a call comes with its end: a sample waits so long for that of the call it lies in.
constexpr std::uint64_t kLongestCallNs = 60'000'000'000;
constexpr std::size_t kMostCells = 200'000, kMostCalls = 200'000;

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
      return "processes without Python";
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

bool is_named_file(const std::string& file) { return !file.starts_with('<'); }

// "<string>", "<stdin>", "<ipython-input-1-...>": what was typed, where the program began with it;
// a package makes code of that name, too.
bool is_typed(const std::string& file) {
  return file == "<string>" || file == "<stdin>" || file.starts_with("<ipython-");
}

}  // namespace

bool is_users(const report::SourceLine& line, const report::SourceLine& outermost) {
  const auto in = [&](const char* folder) { return line.file.find(folder) != std::string::npos; };
  if (!is_named_file(line.file)) return is_typed(line.file) && is_typed(outermost.file);
  return !in("/site-packages/") && !in("/dist-packages/") && !in("/lib/python3");
}

std::size_t user_frame(const std::vector<const report::SourceLine*>& stack) {
  auto found = std::find_if(stack.begin(), stack.end(),
                            [&](const report::SourceLine* line) { return is_users(*line, *stack.back()); });
  if (found == stack.end())
    found = std::find_if(stack.begin(), stack.end(),
                         [](const report::SourceLine* line) { return is_named_file(line->file); });
  return found != stack.end() ? static_cast<std::size_t>(found - stack.begin()) : 0;
}

void LineTally::add(std::uint32_t native, pid_t pid, pid_t tid, std::uint64_t time_ns,
                    PythonRead read) {
  samples_ += 1;
  if (read.why_not == NoLine::kNotPython || read.why_not == NoLine::kUnknownPython)
    return leave_out(read.why_not, native, 1);
  process_of_[tid] = pid;
  for (const auto& [thread, stack] : read.others) {
    process_of_[thread] = pid;
    seen_[thread].push_back({time_ns, read.read_ns, stack});
  }
  auto& samples = read.why_not == NoLine::kWorker ? workers_[pid] : own_[tid];
  samples.push_back({.native = native, .tid = tid, .time_ns = time_ns, .read = std::move(read)});
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

// At which line the thread stood while that call was open; 0: it was not seen there.
std::uint32_t LineTally::stack_in(const TimedCall& call) const {
  if (const auto own = own_.find(call.thread); own != own_.end()) {
    const auto [begin, end] = within(own->second, call.began_ns, call.ended_ns);
    for (auto sample = begin; sample != end; ++sample)
      if (sample->read.stack != 0 && (sample->read.exact || sample->read.read_ns <= call.ended_ns))
        return sample->read.stack;
  }
  if (const auto seen = seen_.find(call.thread); seen != seen_.end()) {
    const auto [begin, end] = within(seen->second, call.began_ns, call.ended_ns);
    for (auto look = begin; look != end; ++look)
      if (look->stack != 0 && look->read_ns <= call.ended_ns) return look->stack;
  }
  return 0;
}

// Of calls within calls the inner one comes first, and has the samples.
void LineTally::apply(const TimedCall& call) {
  const std::uint32_t stack = stack_in(call);
  const auto take = [&](std::deque<Pending>& samples, bool own) {
    const auto [begin, end] = within(samples, call.began_ns, call.ended_ns);
    for (auto sample = begin; sample != end; ++sample) {
      if (sample->kind != kNoCall) continue;
      sample->kind = call.kind;
      sample->stack = sample->read.exact ? sample->read.stack : stack;
      sample->in_own_call = own;
      sample->inverse_ns =
          1 / static_cast<double>(std::max<std::uint64_t>(call.ended_ns - call.began_ns, 1));
    }
  };
  if (const auto own = own_.find(call.thread); own != own_.end()) take(own->second, true);
  const auto process = process_of_.find(call.thread);
  if (process == process_of_.end()) return;
  if (const auto workers = workers_.find(process->second); workers != workers_.end())
    take(workers->second, false);
}

void LineTally::leave_out(NoLine why, std::uint32_t native, double samples) {
  without_[{why, native}] += samples;
}

void LineTally::book(const Pending& sample) {
  const PythonRead& read = sample.read;
  if (sample.kind != kNoCall) {
    const InCall key{.stack = sample.stack, .kind = sample.kind, .native = sample.native};
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
  for (auto* threads : {&own_, &workers_}) {
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

// Samples in calls in which nobody saw the thread: like those of the same routine and shape in
// which somebody did.
void LineTally::share_out() {
  std::map<std::uint64_t, LineCalls> unproven;  // by kind
  std::map<std::uint64_t, double> proven;
  for (const auto& [key, calls] : in_calls_) {
    if (key.stack != 0)
      proven[key.kind] += calls.samples;
    else
      unproven[key.kind] += calls;
  }
  for (auto cell = in_calls_.begin(); cell != in_calls_.end();) {
    auto& [key, calls] = *cell;
    const double all = proven[key.kind];
    if (key.stack != 0) {
      LineCalls part = unproven[key.kind];
      part *= calls.samples / all;
      calls += part;
    } else if (all == 0) {
      leave_out(NoLine::kLate, key.native, calls.samples);
    }
    cell = key.stack != 0 ? std::next(cell) : in_calls_.erase(cell);
  }
}

// As they were sampled: a stack is seen, and not shared out.
void LineTally::add_stacks(LineProfile& profile, const NameOf& name_of) const {
  const auto add = [&](std::uint32_t native, std::uint32_t stack, double samples) {
    profile.stacks[{native, stack}] += static_cast<std::uint64_t>(samples);
  };
  for (const auto& [key, calls] : in_calls_) add(key.native, key.stack, calls.samples);
  for (const auto& [key, samples] : outside_) add(key.second, key.first, samples);
  for (const auto& [key, samples] : by_workers_)
    add(key.second, name_of(key.second) == kWaiting ? 0 : key.first, samples);
  for (const auto& [key, samples] : without_) add(key.second, 0, samples);
}

LineProfile LineTally::finish(const LineStacks& stacks, const NameOf& name_of) {
  settle(~std::uint64_t{0});
  expire(~std::uint64_t{0});

  LineProfile profile;
  profile.samples = samples_;
  add_stacks(profile, name_of);
  share_out();
  std::map<std::uint32_t, LineSamples> lines;
  // The samples of a stack; gives the line that has them as its own.
  const auto add = [&](std::uint32_t stack, double samples) -> LineSamples& {
    const std::vector<StackedLine>& stacked = stacks.lines_of(stack);
    std::vector<const report::SourceLine*> frames;
    for (const StackedLine& one : stacked) frames.push_back(&stacks.line(one.line));
    const std::size_t own = user_frame(frames);
    std::set<std::uint32_t> counted;  // a recursion is under its line once
    for (std::size_t i = own; i < stacked.size(); ++i) {
      const std::uint32_t number = stacked[i].line;
      if ((i == own || is_users(*frames[i], *frames.back())) && counted.insert(number).second)
        lines[number].total += samples;
    }
    LineSamples& line = lines[stacked[own].line];
    line.self += samples;
    profile.with_line += samples;
    return line;
  };
  for (const auto& [key, calls] : in_calls_) add(key.stack, calls.samples).calls[key.kind] += calls;
  for (const auto& [key, samples] : outside_)
    add(key.first, samples).parts[name_of(key.second)] += samples;
  for (const auto& [key, samples] : by_workers_) {
    const std::string name = name_of(key.second);
    if (name == kWaiting) {
      profile.without[reason_of(NoLine::kWorker, true)] += samples;
    } else {
      add(key.first, samples).parts[name] += samples;
    }
  }
  for (const auto& [key, samples] : without_) {
    const bool waiting = key.first == NoLine::kWorker && name_of(key.second) == kWaiting;
    profile.without[reason_of(key.first, waiting)] += samples;
  }
  for (auto& [number, line] : lines) {
    line.line = stacks.line(number);
    profile.lines.push_back(std::move(line));
  }
  std::stable_sort(profile.lines.begin(), profile.lines.end(),
                   [](const LineSamples& a, const LineSamples& b) {
                     return std::pair(a.self, a.total) > std::pair(b.self, b.total);
                   });
  return profile;
}

}  // namespace hwprof::observe
