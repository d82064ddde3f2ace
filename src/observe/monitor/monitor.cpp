#include "src/observe/monitor/monitor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <set>
#include <utility>

#include "src/base/files.h"
#include "src/base/spawn.h"
#include "src/base/text.h"
#include "src/observe/monitor/errands.h"
#include "src/observe/monitor/hand.h"
#include "src/observe/monitor/looks.h"
#include "src/observe/monitor/worker.h"
#include "src/observe/proc/child.h"
#include "src/observe/proc/processes.h"
#include "src/observe/proc/program_file.h"
#include "src/observe/proc/signals.h"

namespace hwprof::observe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTracerTick{100};    // who traces the command may let its end go
constexpr milliseconds kSecondSignal{500};  // a terminal that goes away sends two that mean one
constexpr std::size_t kMostReportBytes = std::size_t{512} << 20U;  // of one saved and the next
// What hwprof puts into the environment of the command.
constexpr std::string_view kVariables[] = {
    "LD_AUDIT=", "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=", "HWPROF_"};

bool may_set(std::string_view variable, const std::vector<std::string>& more) {
  const auto begins = [&](std::string_view known) { return variable.starts_with(known); };
  return std::any_of(std::begin(kVariables), std::end(kVariables), begins) ||
         std::any_of(more.begin(), more.end(), begins);
}

class Monitor {
 public:
  Monitor(const MonitorOptions& options, Hand hand, SignalWatch signals, UniqueFd attached)
      : options_(options),
        hand_(std::move(hand)),
        signals_(std::move(signals)),
        attached_(std::move(attached)) {}

  // Until the worker, and the command, have ended.
  void serve(Worker worker);
  // Gives what it said at its end.
  std::string end_hand() { return hand_.end(options_.patience.end, signals_); }
  [[nodiscard]] const std::optional<Result<int>>& outcome() const { return outcome_; }
  [[nodiscard]] const std::optional<std::string>& report() const { return report_; }
  void deliver_report();
  [[nodiscard]] WorkerDeath death() const;
  // Said by whoever knows that it could not be started; else nobody has.
  [[nodiscard]] bool left_command_unstarted() const {
    return !options_.command.empty() && !was_released_ && (!outcome_ || *outcome_ == 0);
  }
  [[nodiscard]] int command_exit() const { return last_end_ ? last_end_->facts.exit : 0; }

 private:
  void take_signals();
  void take_question();
  [[nodiscard]] bool has_question() const;
  void give_up();
  void end_worker();
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;
  [[nodiscard]] milliseconds longest_wait() const;
  void end_command();
  Result<void> write(const std::string& path, const std::string& bytes);
  [[nodiscard]] std::set<pid_t> own_children() const;
  Result<Answer> answer(const Question& question, const std::string& text, UniqueFd& given);
  // `output`: becomes what it writes; absent: that goes where hwprof's goes.
  Result<pid_t> start(const std::string& variables, UniqueFd* output);
  Result<void> release();

  const MonitorOptions& options_;
  Hand hand_;
  SignalWatch signals_;
  UniqueFd attached_;  // readable once that process has ended; none: that was seen
  std::optional<Worker> worker_;
  int worker_status_ = 0;
  std::optional<Child> command_;
  UniqueFd children_ = children_file();  // opened before a user's program runs
  std::optional<Orphans> orphans_;
  bool orphans_left_ = false;  // that have ended: more than are taken at once
  Errands errands_;
  bool held_ = false, running_ = false;
  bool was_released_ = false;  // some time, and it ran
  unsigned runs_ = 0;
  bool end_kept_ = false;  // it has ended, and a process that traces it has not looked yet
  std::optional<Clock::time_point> given_up_;  // when the worker was killed by us
  Clock::time_point began_, heard_;            // the command, or the first worker
  Clock::time_point watched_until_;            // of what is attached to
  Clock::time_point turn_;                     // since when it is the worker's
  std::vector<int> waiting_signals_;           // came before the command could take them
  int end_wanted_ = 0;
  std::optional<Clock::time_point> hurried_;  // the first signal since it is the worker's turn
  std::optional<CommandEnd> last_end_;
  std::string parts_;  // of what the worker is about to save
  std::optional<std::string> report_;
  std::optional<Result<int>> outcome_;
};

void Monitor::take_signals() {
  while (const auto signal = signals_.take()) {
    if (signal->asks_for_end()) {
      const auto now = Clock::now();
      // The first one while no program runs ends the ladder, or what is attached to; who then asks
      // again does not want to wait for the report.
      if (hurried_ && worker_ && now - *hurried_ > kSecondSignal) give_up();
      if (!running_ && !hurried_) hurried_ = now;
      if (end_wanted_ == 0 && options_.attach) turn_ = now;
      end_wanted_ = signal->number;
    }
    // The whole foreground group has it, but for a worker that has left the terminal.
    if (signal->from_kernel && !options_.attach) continue;
    if (running_) {
      ::kill(command_->pid(), signal->number);
    } else if (!options_.attach && !last_end_) {
      waiting_signals_.push_back(signal->number);
    } else if (worker_ && signal->asks_for_end()) {
      ::kill(worker_->pid, signal->number);
    }
  }
}

Result<pid_t> Monitor::start(const std::string& variables, UniqueFd* output) {
  if (options_.command.empty() || running_ || held_)
    return environment_error(EINVAL, "there is no command to start");
  if (runs_ >= options_.runs) return environment_error(EPERM, "the command has run often enough");
  // A path in a folder of that user's may lead to a file system of his that never answers: the
  // child, who has his rights and limited time, goes it alone.
  std::string path = options_.command.front();
  if (!options_.user || path.find('/') == std::string::npos) {
    TRY(path, find_program(path));
  }
  std::vector<std::string> environment;
  for (const std::string_view variable : split(variables, '\0')) {
    if (variable.empty()) continue;
    if (!may_set(variable, options_.variables))
      return environment_error(EPERM, "the worker may not set this variable");
    environment.emplace_back(variable);
  }
  command_.reset();
  if (!orphans_) orphans_.emplace(children_.get());
  orphans_->begin_next(own_children());
  Pipe quiet;
  UniqueFd nowhere;
  if (output != nullptr) {
    TRY(quiet, make_pipe());
    nowhere.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  TRY(Child command, Child::start(path, options_.command,
                                  {.cpus = options_.pin,
                                   .environment = environment,
                                   .output = quiet.writer.get(),
                                   .error = nowhere.get(),
                                   .user = options_.user}));
  if (output != nullptr) *output = std::move(quiet.reader);
  command_.emplace(std::move(command));
  held_ = true;
  ++runs_;
  hand_.give({Order::Kind::kObserveOwn, command_->pid()}, command_->exit_descriptor());
  return command_->pid();
}

Result<void> Monitor::release() {
  if (!held_) return environment_error(EINVAL, "there is no command to release");
  held_ = false;
  hurried_.reset();
  began_ = Clock::now();
  TRY(command_->release());
  running_ = was_released_ = true;
  for (const int number : std::exchange(waiting_signals_, {})) ::kill(command_->pid(), number);
  return {};
}

std::set<pid_t> Monitor::own_children() const {
  std::set<pid_t> own = errands_.left();
  if (command_) own.insert(command_->pid());
  if (worker_) own.insert(worker_->pid);
  return own;
}

Result<void> Monitor::write(const std::string& path, const std::string& bytes) {
  return at_file(errands_, path, options_.patience.file, [&] { return write_file(path, bytes); });
}

void Monitor::deliver_report() {
  if (!report_) return;
  errands_.begin_last();
  if (!options_.report_file.empty()) {
    const auto written = write(options_.report_file, *report_);
    if (written) return;
    Error error = written.error();
    error.what += "; the report follows here";
    if (options_.say_error) options_.say_error(error);
  }
  if (options_.write_report) options_.write_report(*report_);
}

void Monitor::end_command() {
  CommandEnd end;
  CommandEnded& facts = end.facts;
  facts.wall_s = std::chrono::duration<double>(Clock::now() - began_).count();
  facts.waited_s = waited_for_cpu(errands_, command_->pid(), options_.patience.look);
  const Result<ChildEnd> ended = command_->wait();
  heard_ = turn_ = Clock::now();
  hurried_.reset();
  hand_.give({Order::Kind::kLeaveRings});
  running_ = false;
  orphans_->reap(own_children());
  if (ended) {
    facts.exit = ended->exit;
    facts.user_s = ended->user_s + orphans_->user_s();
    facts.system_s = ended->system_s + orphans_->system_s();
    facts.page_faults = ended->page_faults;
    facts.major_faults = ended->major_faults;
    facts.voluntary_switches = ended->voluntary_switches;
    facts.involuntary_switches = ended->involuntary_switches;
    facts.peak_rss_bytes = ended->peak_rss_bytes.value_or(0);
    facts.start_rss_bytes = ended->start_rss_bytes;
  } else {
    facts.lost = ended.error().code != 0 ? ended.error().code : EIO;
  }
  std::string left;
  end.left = left_behind(
      errands_, [this] { return orphans_->adopted(own_children()); }, options_.patience.look);
  for (const LeftProcess& one : end.left) {
    const std::string entry = text_of(one);
    if (left.size() + entry.size() <= Channel::kMostText) left += entry;
  }
  if (worker_) static_cast<void>(worker_->events.send(facts, left));
  last_end_ = std::move(end);
}

Result<Answer> Monitor::answer(const Question& question, const std::string& text, UniqueFd& given) {
  Answer answer;
  switch (question.ask) {
    case Ask::kStart: {
      TRY(answer.number, start(text, nullptr));
      return answer;
    }
    case Ask::kStartQuietly: {
      TRY(answer.number, start(text, &given));
      return answer;
    }
    case Ask::kRelease: {
      TRY(release());
      return answer;
    }
    case Ask::kEndWanted:
      take_signals();
      answer.number = end_wanted_;
      return answer;
    case Ask::kPart:
      if (parts_.size() + text.size() + (report_ ? report_->size() : 0) > kMostReportBytes) {
        parts_.clear();  // else a later file would begin with them
        return environment_error(EFBIG, "the worker sent more than can be a report");
      }
      parts_ += text;
      return answer;
    case Ask::kSaveReport:
      if (parts_.empty()) return environment_error(EINVAL, "the worker sent no report");
      report_ = std::exchange(parts_, {});
      return answer;
    case Ask::kSaveFile: {
      const std::string bytes = std::exchange(parts_, {});
      const auto& files = options_.files;
      if (std::find(files.begin(), files.end(), text) == files.end())
        return environment_error(EPERM, "the command line names no such file");
      TRY(write(text, bytes));
      return answer;
    }
    case Ask::kFinish:
      outcome_ = question.number;
      return answer;
    case Ask::kFail: {
      const Fault fault = question.pid != 0 ? Fault::kUsage : Fault::kEnvironment;
      outcome_ = tl::make_unexpected(error_in(fault, question.number, text));
      return answer;
    }
    default:  // or the hand's
      return environment_error(EINVAL, "the worker asked for what there is not");
  }
}

void Monitor::take_question() {
  Question question;
  std::string text;
  UniqueFd given;
  if (!worker_->questions.receive(question, text)) {
    worker_->questions.leave();  // its end is seen at its descriptor
    return;
  }
  heard_ = Clock::now();
  auto answered = [&]() -> Result<Answer> {
    try {
      return answer(question, text, given);
    } catch (const std::exception& error) {  // of memory: what this worker asks for is its own loss
      return environment_error(ENOMEM, error.what());
    }
  }();
  // Who asks and does not read would hold up the command's signals and its end.
  if (!send_answer(worker_->questions, std::move(answered), {}, given))
    ::kill(worker_->pid, SIGKILL);
}

bool Monitor::has_question() const {
  pollfd asked{worker_->questions.descriptor(), POLLIN, 0};
  return worker_->questions.descriptor() >= 0 && ::poll(&asked, 1, 0) > 0 &&
         (asked.revents & POLLIN) != 0;
}

// It waits for each answer, so it leaves one question at most. Whatever else comes through its
// channel is asked by somebody to whom it left that. A process that traces it (the command may,
// once the worker has called execve) has its end first and may keep it: then it counts as killed.
void Monitor::end_worker() {
  if (!outcome_ && has_question()) take_question();
  if (::waitpid(worker_->pid, &worker_status_, WNOHANG) != worker_->pid) worker_status_ = SIGKILL;
  worker_.reset();
  if (attached_.valid()) watched_until_ = Clock::now();
}

// The process may have ended since anybody looked.
WorkerDeath Monitor::death() const {
  pollfd process{attached_.get(), POLLIN, 0};
  return {.how = how_it_ended(worker_status_),
          .end = last_end_,
          .watched_s = std::chrono::duration<double>(watched_until_ - began_).count(),
          .goes_on = attached_.valid() && ::poll(&process, 1, 0) == 0};
}

void Monitor::give_up() {
  ::kill(worker_->pid, SIGKILL);
  if (!given_up_) given_up_ = Clock::now();
}

// By when the worker must have ended, if there is such a time.
std::optional<Clock::time_point> Monitor::deadline() const {
  const MonitorPatience& patience = options_.patience;
  if (!worker_) return std::nullopt;
  if (given_up_) return *given_up_ + patience.end;
  if (outcome_) return heard_ + patience.end;
  if (running_) return std::nullopt;
  auto since = turn_;
  if (attached_.valid() && end_wanted_ == 0) {
    if (!options_.attach_for) return std::nullopt;
    since += *options_.attach_for;
  }
  return std::min(std::max(heard_, since) + patience.silence, since + patience.work);
}

milliseconds Monitor::longest_wait() const {
  if (orphans_left_) return milliseconds(0);
  if (end_kept_) return kTracerTick;
  const auto end = deadline();
  return end ? std::max(milliseconds(0), std::chrono::ceil<milliseconds>(*end - Clock::now()))
             : milliseconds(-1);
}

void Monitor::serve(Worker worker) {
  hand_.give({Order::Kind::kServe, worker.pid}, worker.ended.get());
  worker_.emplace(std::move(worker));
  given_up_.reset();
  heard_ = turn_ = Clock::now();
  if (options_.attach && began_ == Clock::time_point()) began_ = turn_;
  while (worker_ || running_) {
    // Who has finished has no question.
    const int questions = worker_ && !outcome_ ? worker_->questions.descriptor() : -1;
    pollfd waiting[] = {{signals_.descriptor(), POLLIN, 0},
                        {questions, POLLIN, 0},
                        {worker_ ? worker_->ended.get() : -1, POLLIN, 0},
                        {running_ && !end_kept_ ? command_->exit_descriptor() : -1, POLLIN, 0},
                        {attached_.get(), POLLIN, 0},
                        {signals_.child_descriptor(), POLLIN, 0}};
    if (::poll(waiting, std::size(waiting), static_cast<int>(longest_wait().count())) < 0 &&
        errno != EINTR) {
      return;
    }
    take_signals();
    if (waiting[4].revents != 0) {
      attached_.reset();
      turn_ = watched_until_ = Clock::now();
    }
    if (waiting[5].revents != 0) signals_.take_child_ends();
    if (orphans_ && (waiting[5].revents != 0 || orphans_left_))
      orphans_left_ = !orphans_->reap(own_children());
    if (waiting[3].revents != 0 || end_kept_) {
      end_kept_ = end_wanted_ == 0 && !command_->can_be_waited_for();
      if (!end_kept_) end_command();
    }
    if (waiting[2].revents != 0) {
      end_worker();
    } else if (waiting[1].revents != 0) {
      take_question();
    }
    const auto end = deadline();
    if (!end || Clock::now() < *end) continue;
    if (given_up_) {  // a file system of somebody's own making keeps it from ending
      end_worker();
    } else {
      give_up();
    }
  }
}

Result<Account> user_of(const MonitorOptions& options) {
  if (::geteuid() != 0) return own_account();
  if (options.attach) return account_of(*options.attach, options.patience.look);
  return options.user ? find_account(*options.user) : own_account();
}

tl::unexpected<Error> no_process(pid_t pid) {
  return usage_error(fmt::format("there is no process {}", pid), "ps -e lists what runs");
}

Result<int> observe_with(Monitor& monitor, const MonitorOptions& options, const Account& user,
                         Channel hand, const WorkerTask& work,
                         const WorkerTaskAfterDeath& after_death) {
  const Account of_second = account_of_second_worker(user);
  TRY(Worker worker, start_worker(user, std::move(hand), options, work));
  monitor.serve(std::move(worker));
  const WorkerDeath death = monitor.death();
  if (monitor.left_command_unstarted()) {
    return environment_error(
        0, fmt::format("{} did not run: hwprof's worker {} before it could be started",
                       options.command.front(), death.how));
  }
  Result<void> begun;
  if (!monitor.outcome()) {
    if (monitor.report()) {
      spdlog::warn("hwprof's worker {}: the report is of what was known before", death.how);
    } else {
      const WorkerTask say = [&](MonitorClient& client) { return after_death(client, death); };
      TRY(auto unheard, Channel::make_pair());  // it needs no hand
      unheard.first.close();
      auto second = start_worker(of_second, std::move(unheard.second), options, say);
      if (second) {
        monitor.serve(*std::move(second));
        if (!monitor.outcome() && !monitor.report())
          spdlog::error("hwprof's worker {} twice: there is no report", monitor.death().how);
      } else {
        begun = error_of(second);
      }
    }
  }
  monitor.deliver_report();
  const auto& outcome = monitor.outcome();
  const Result<int> code = !begun    ? Result<int>(error_of(begun))
                           : outcome ? *outcome
                                     : options.exit_without_worker;
  const int command = options.passes_exit_code ? monitor.command_exit() : 0;
  if (command == 0) return code;
  // The command's wins; what went wrong is said all the same.
  if (!code && options.say_error) options.say_error(code.error());
  return command;
}

}  // namespace

Result<int> run_split(const MonitorOptions& options, const WorkerTask& work,
                      const WorkerTaskAfterDeath& after_death) {
  UniqueFd attached;
  if (options.attach) {
    // Before it is asked whose it is: from now on the number means no other process.
    attached.reset(static_cast<int>(::syscall(SYS_pidfd_open, *options.attach, 0)));
    if (!attached.valid() && errno == ESRCH) return no_process(*options.attach);
  }
  TRY(const Account user, user_of(options));
  // Else its number could have been another's when it was asked whose it is.
  if (attached.valid() && ::syscall(SYS_pidfd_send_signal, attached.get(), 0, nullptr, 0) != 0 &&
      errno == ESRCH)
    return no_process(*options.attach);
  TRY(SignalWatch signals, SignalWatch::begin());
  ignore_closed_pipes();
  TRY(auto questions, Channel::make_pair());
  TRY(Hand hand, Hand::start(user, std::move(questions.second)));
  if (options.attach) hand.give({Order::Kind::kObserve, *options.attach}, attached.get());
  Monitor monitor(options, std::move(hand), std::move(signals), std::move(attached));
  auto code = observe_with(monitor, options, user, std::move(questions.first), work, after_death);
  const std::string spent = monitor.end_hand();
  spdlog::info("monitor: {}; {}", peak_memory(), spent.empty() ? "budgets not known" : spent);
  return code;
}

}  // namespace hwprof::observe
