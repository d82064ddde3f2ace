#include "src/observe/monitor/hand.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "src/base/spawn.h"
#include "src/observe/calls/tracefs.h"
#include "src/observe/monitor/errands.h"
#include "src/observe/monitor/protocol.h"
#include "src/observe/monitor/requests.h"
#include "src/observe/monitor/sandbox.h"

namespace hwprof::observe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kLongestRead{10};  // of the symbols of a file
constexpr milliseconds kKilled{1000};             // a hand, which then ends at once or hangs

bool has_message(const Channel& channel) {
  pollfd message{channel.descriptor(), POLLIN, 0};
  return channel.descriptor() >= 0 && ::poll(&message, 1, 0) > 0 && (message.revents & POLLIN) != 0;
}

class Server {
 public:
  Server(const Account& user, Channel orders, Channel questions)
      : requests_(user), orders_(std::move(orders)), questions_(std::move(questions)) {}
  // Until the monitor wants its end, or has ended.
  void serve(pid_t monitor);
  void end();

 private:
  bool take_orders();
  void take_question();
  void end_reading();
  void end_worker();
  void reply(Result<Answer> answered, std::string said = {}, const UniqueFd& given = {});
  Result<Answer> answer(const Question& question, const std::string& text, const UniqueFd& fd,
                        UniqueFd& given, std::string& said);

  Requests requests_;
  Channel orders_, questions_;
  UniqueFd worker_;                      // readable at its end
  std::optional<RoutineReader> reader_;  // for whose end the worker waits
  Clock::time_point reads_since_;
};

// All that came before the worker's question: it may be about a process that was just started.
bool Server::take_orders() {
  pollfd waiting{orders_.descriptor(), POLLIN, 0};
  while (::poll(&waiting, 1, 0) > 0) {
    Order order;
    std::string text;
    UniqueFd process;
    if (!orders_.receive(order, text, process)) return false;
    switch (order.kind) {
      case Order::Kind::kServe:
        worker_.reset(::fcntl(process.get(), F_DUPFD_CLOEXEC, 0));
        requests_.observe(order.pid, std::move(process), true);
        break;
      case Order::Kind::kObserve:
      case Order::Kind::kObserveOwn:
        requests_.observe(order.pid, std::move(process), order.kind == Order::Kind::kObserveOwn);
        break;
      case Order::Kind::kLeaveRings:
        requests_.leave_rings();
        break;
      case Order::Kind::kEnd:
        return false;
    }
  }
  return true;
}

Result<Answer> Server::answer(const Question& question, const std::string& text, const UniqueFd& fd,
                              UniqueFd& given, std::string& said) {
  Answer answer;
  switch (question.ask) {
    case Ask::kOpenEvent: {
      TRY(given, requests_.open_event(question, fd));
      return answer;
    }
    case Ask::kOpenFile: {
      TRY(given, requests_.open_file(question, text));
      return answer;
    }
    case Ask::kBeginProbes: {
      TRY(requests_.begin_probes());
      return answer;
    }
    case Ask::kDefineProbes: {
      TRY(const auto events, requests_.define_probes(question, text));
      std::copy_n(events.begin(), std::min(events.size(), answer.events.size()),
                  answer.events.begin());
      return answer;
    }
    case Ask::kRemoveProbes: {
      for (const std::string& line : requests_.remove_probes())
        said += (said.empty() ? "" : "\n") + line;
      return answer;
    }
    default:  // take_question() has seen to kReadRoutines, the rest is the monitor's
      return environment_error(EINVAL, "the worker asked for what there is not");
  }
}

void Server::take_question() {
  Question question;
  std::string text, said;
  UniqueFd fd, given;
  if (!questions_.receive(question, text, fd)) {
    questions_.leave();
    return;
  }
  if (question.ask == Ask::kReadRoutines) {
    auto reader = requests_.start_reader(std::move(fd));
    if (!reader) return reply(error_of(reader));
    reader_.emplace(*std::move(reader));
    reads_since_ = Clock::now();
    return;
  }
  auto answered = [&]() -> Result<Answer> {
    try {
      return answer(question, text, fd, given, said);
    } catch (const std::exception& error) {  // of memory: what this worker asks for is its own loss
      return environment_error(ENOMEM, error.what());
    }
  }();
  reply(std::move(answered), std::move(said), given);
}

void Server::end_reading() {
  const Result<int> number = requests_.take_routines(*reader_);
  reader_.reset();
  if (!number) return reply(error_of(number));
  Answer answer;
  answer.number = *number;
  reply(answer);
}

// Who asks and does not read the answers is heard no more.
void Server::reply(Result<Answer> answered, std::string said, const UniqueFd& given) {
  if (!send_answer(questions_, std::move(answered), std::move(said), given)) questions_.leave();
}

// What else comes through its channel is asked by somebody to whom it left that.
void Server::end_worker() {
  questions_.leave();
  reader_.reset();
  worker_.reset();
}

void Server::serve(pid_t monitor) {
  while (true) {
    end_with_parent(monitor);
    // Who waits for an answer has no question.
    const int questions = worker_.valid() && !reader_ ? questions_.descriptor() : -1;
    pollfd waiting[] = {{orders_.descriptor(), POLLIN, 0},
                        {questions, POLLIN, 0},
                        {worker_.get(), POLLIN, 0},
                        {reader_ ? reader_->descriptor() : -1, POLLIN, 0}};
    const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(kLongestRead);
    const int ready =
        ::poll(waiting, std::size(waiting), reader_ ? static_cast<int>(longest.count()) : -1);
    if (ready < 0 && errno != EINTR) return;
    if (!take_orders()) return;
    if (waiting[2].revents != 0) {
      end_worker();
    } else if (waiting[1].revents != 0) {
      take_question();
    } else if (reader_ &&
               (waiting[3].revents != 0 || Clock::now() - reads_since_ >= kLongestRead)) {
      end_reading();
    }
  }
}

// The rings first: a probe stays while somebody has its event.
void Server::end() {
  end_worker();
  requests_.leave_rings();
  static_cast<void>(requests_.remove_probes());
  static_cast<void>(orders_.send(Order{}, requests_.spent()));
}

}  // namespace

Result<Hand> Hand::start(const Account& user, Channel questions) {
  TRY(auto orders, Channel::make_pair());
  std::fflush(nullptr);  // or it would be written twice
  const pid_t monitor = ::getpid(), pid = ::fork();
  if (pid < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) {
    // Its signals wait for ever: the terminal's are the monitor's.
    end_with_parent(monitor);
    keep_variables({});
    leave_what_is_hwprofs({orders.second.descriptor(), questions.descriptor()});
    Server server(user, std::move(orders.second), std::move(questions));
    server.serve(monitor);
    server.end();
    ::_exit(0);
  }
  orders.second.close();
  questions.close();
  TRY(UniqueFd ended, watch_child(pid));
  return Hand(pid, std::move(ended), std::move(orders.first));
}

// Where the channel takes no more the hand hangs, and will see nothing.
void Hand::give(const Order& order, int process) const {
  static_cast<void>(orders_.send(order, {}, process));
}

void Hand::kill() const { ::kill(pid_, SIGKILL); }

int Hand::status() const {
  int status = 0;
  return ::waitpid(pid_, &status, WNOHANG) == pid_ ? status : 0;
}

std::string Hand::last_words() const {
  Order order;
  std::string text;
  return has_message(orders_) && orders_.receive(order, text) ? text : "";
}

void Hand::remove_probes(milliseconds patience) const {
  static_cast<void>(Errands().run(patience, "tracefs", [this]() -> Result<std::string> {
    remove_leftover_probes(pid_);
    return std::string();
  }));
}

bool Hand::ends_within(milliseconds patience, SignalWatch& signals) const {
  const auto until = Clock::now() + patience;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    pollfd waiting[] = {{ended_.get(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    ::poll(waiting, std::size(waiting), static_cast<int>(std::max<long>(0, left.count())));
    if (waiting[0].revents != 0) return true;
    bool hurried = false;
    while (const auto signal = signals.take()) hurried = hurried || signal->asks_for_end();
    if (hurried || Clock::now() >= until) return false;
  }
}

std::string Hand::end(milliseconds patience, SignalWatch& signals) {
  give({Order::Kind::kEnd});
  if (ends_within(patience, signals)) {
    const int status = this->status();
    if (status == 0) return last_words();
    spdlog::warn("hwprof's privileged part {}", how_it_ended(status));
  } else {
    kill();
    const bool ended = ends_within(kKilled, signals);
    spdlog::warn(
        "hwprof's privileged part, process {}, {}: it waited in the kernel, for something "
        "that the observed user holds{}",
        pid_, ended ? "was killed" : "does not end, and is left",
        ended ? "" : ". Probes of its are removed by the next hwprof");
    if (ended) static_cast<void>(this->status());
  }
  remove_probes(patience);
  return "";
}

}  // namespace hwprof::observe
