#include "src/blas/evidence/process_readers.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace hwprof::blas {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kLeastAtOnce = 8;  // however many were left
constexpr int kMostReadersOfTask = 16;   // one after the other
const char* const kTooManyLeft = "too many readers wait in the kernel, and cannot be ended";
constexpr milliseconds kShortestPatience{250}, kLingers{100}, kPoll{50};

// A part of a task: what a reader has not read, the next ones do.
struct Part {
  std::size_t task = 0;
  std::vector<std::size_t> of;  // numbers in its processes
  milliseconds patience{};
  int before = 0;  // readers that did not come to its end
};

struct Running {
  Part part;
  ProcessReader reader;
  std::uint32_t steps = 0;
  Clock::time_point stepped;
};

class Readers {
 public:
  Readers(const std::vector<ReaderTask>& tasks, std::vector<LeftReader>& left,
          const ReadersLimits& limits)
      : tasks_(tasks), left_(left), limits_(limits), deadline_(Clock::now() + limits.all) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Part part{i, {}, limits.patience, 0};
      for (std::size_t j = 0; j < tasks[i].processes.size(); ++j) part.of.push_back(j);
      waiting_.push_back(std::move(part));
      results_.emplace_back(tasks[i].processes.size());
    }
  }

  Result<std::vector<std::vector<ReadProcess>>> read() {
    while (!waiting_.empty() || !running_.empty()) {
      if (Clock::now() >= deadline_) break;
      TRY(start());
      wait();
      take();
    }
    end_all();
    return std::move(results_);
  }

 private:
  uid_t user_of(const Part& part) const { return tasks_[part.task].user; }

  bool too_many_left(uid_t user) const {
    const auto of_user = std::count_if(left_.begin(), left_.end(),
                                       [&](const LeftReader& one) { return one.user == user; });
    return left_.size() >= limits_.left ||
           static_cast<std::size_t>(of_user) >= limits_.left_of_one_user;
  }

  void give_up(const Part& part, const std::string& reason) {
    for (const std::size_t i : part.of) results_[part.task][i].reason = reason;
  }

  // The first that waits and whose user has not as many as he may.
  Result<void> start() {
    const std::size_t at_once =
        std::max(kLeastAtOnce, limits_.at_once - std::min(limits_.at_once, left_.size()));
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      const uid_t user = user_of(*next);
      if (too_many_left(user)) {
        give_up(*next, kTooManyLeft);
        next = waiting_.erase(next);
        continue;
      }
      if (running_.size() >= std::min(at_once, limits_.at_once)) break;
      const auto of_user = std::count_if(running_.begin(), running_.end(), [&](const Running& one) {
        return user_of(one.part) == user;
      });
      if (static_cast<std::size_t>(of_user) >= limits_.of_one_user) {
        ++next;
        continue;
      }
      const ReaderTask& task = tasks_[next->task];
      std::vector<observe::SeenProcess> processes;
      for (const std::size_t i : next->of) processes.push_back(task.processes[i]);
      TRY(ProcessReader reader, ProcessReader::start(std::move(processes), task.account));
      running_.push_back({std::move(*next), std::move(reader), 0, Clock::now()});
      next = waiting_.erase(next);
    }
    return {};
  }

  void wait() const {
    std::vector<pollfd> events;
    for (const Running& one : running_) events.push_back({one.reader.descriptor(), POLLIN, 0});
    ::poll(events.data(), events.size(), static_cast<int>(kPoll.count()));
  }

  void take() {
    const auto now = Clock::now();
    for (auto one = running_.begin(); one != running_.end();) {
      pollfd event{one->reader.descriptor(), POLLIN, 0};
      const bool ended = ::poll(&event, 1, 0) > 0;
      if (const std::uint32_t steps = one->reader.steps(); steps != one->steps) {
        one->steps = steps;
        one->stepped = now;
      }
      const bool stands = !ended && now - one->stepped >= one->part.patience;
      if (ended || stands) {
        finish(*one, stands);
        one = running_.erase(one);
      } else {
        ++one;
      }
    }
  }

  // What the reader was at is passed over; others read the rest.
  void finish(Running& one, bool stood) {
    const std::size_t at = one.part.of[one.reader.at()];
    end(one, Clock::now() + kLingers);
    Part rest = take_results(one);
    if (rest.of.empty()) return;
    const std::string why = stood ? "its reader waited in the kernel for it"
                                  : "its reader " + one.reader.how_it_ended();
    results_[rest.task][at].reason = why;
    if (++rest.before >= kMostReadersOfTask) {
      std::erase(rest.of, at);
      return give_up(rest, "too many of its user's readers end so: " + why);
    }
    rest.patience = std::max(std::min(kShortestPatience, limits_.patience), rest.patience / 2);
    read_by_others(rest, at);
  }

  // What came before was opened without waiting. What comes behind is halved, so that of many that
  // have to be waited for most are waited for at the same time.
  void read_by_others(const Part& rest, std::size_t passed_over) {
    const auto begin = rest.of.begin(), end = rest.of.end();
    const auto at = std::find(begin, end, passed_over), behind = at == end ? at : at + 1;
    const auto middle = behind + (end - behind) / 2;
    for (const auto& [from, to] : {std::pair(begin, at), {behind, middle}, {middle, end}}) {
      if (from == to) continue;
      Part part = rest;
      part.of.assign(from, to);
      waiting_.push_back(std::move(part));
    }
  }

  void end(Running& one, Clock::time_point deadline) {
    if (one.reader.end(deadline)) return;
    const std::size_t at = one.part.of[one.reader.at()];
    left_.push_back({one.reader.pid(), tasks_[one.part.task].processes[at].pid, user_of(one.part)});
    one.reader.leave();
  }

  // What it has not read.
  Part take_results(Running& one) {
    Part rest{one.part.task, {}, one.part.patience, one.part.before};
    auto read = one.reader.results();
    for (std::size_t i = 0; i < read.size(); ++i) {
      const std::size_t number = one.part.of[i];
      if (read[i])
        results_[rest.task][number] = *std::move(read[i]);
      else
        rest.of.push_back(number);
    }
    return rest;
  }

  void end_all() {
    for (const Part& part : waiting_)
      give_up(part, "there was no time for it: the readers of others took too long");
    for (Running& one : running_) one.reader.kill();
    const auto deadline = Clock::now() + kLingers;
    for (Running& one : running_) {
      end(one, deadline);
      give_up(take_results(one), "its reader took too long, and was ended");
    }
  }

  const std::vector<ReaderTask>& tasks_;
  std::vector<LeftReader>& left_;
  const ReadersLimits& limits_;
  Clock::time_point deadline_;
  std::deque<Part> waiting_;
  std::vector<Running> running_;
  std::vector<std::vector<ReadProcess>> results_;
};

}  // namespace

void put_known_users_first(std::vector<ReaderTask>& tasks) {
  observe::UserOrder users;
  for (const ReaderTask& task : tasks) users.add(task.user, task.processes.size());
  std::stable_sort(tasks.begin(), tasks.end(), [&](const ReaderTask& a, const ReaderTask& b) {
    return users.before(a.user, b.user);
  });
}

Result<std::vector<std::vector<ReadProcess>>> read_processes(const std::vector<ReaderTask>& tasks,
                                                             std::vector<LeftReader>& left,
                                                             const ReadersLimits& limits) {
  return Readers(tasks, left, limits).read();
}

}  // namespace hwprof::blas
