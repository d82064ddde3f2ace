#include "src/observe/monitor/client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "counters/perf/open_event.h"
#include "src/base/text.h"
#include "src/observe/calls/mapped_file.h"
#include "src/observe/calls/probe_set.h"
#include "src/observe/proc/foreign_file.h"

namespace hwprof::observe {
namespace {

MonitorClient* the_client = nullptr;

UniqueFd descriptor_of(Result<MonitorClient::Reply> reply) {
  if (reply) return std::move(reply->fd);
  errno = reply.error().code != 0 ? reply.error().code : EPIPE;
  return {};
}

UniqueFd ask_for_event(const perf_event_attr& attr, pid_t tid, int cpu, int group_fd,
                       std::size_t ring_bytes) {
  // Of the caller: that is not the process which opens it.
  const pid_t task = tid == 0 ? ::gettid() : tid;
  return descriptor_of(the_client->ask(
      {.ask = Ask::kOpenEvent, .pid = task, .cpu = cpu, .end = ring_bytes, .attr = attr}, {},
      group_fd));
}

// What this process may do itself it does: the hand only does what is refused.
UniqueFd ask_for_file(const ForeignFile& file) {
  if (UniqueFd own = open_foreign_here(file); own.valid() || (errno != EACCES && errno != EPERM)) {
    return own;
  }
  return descriptor_of(the_client->ask({.ask = Ask::kOpenFile,
                                        .pid = file.pid,
                                        .file = file.kind,
                                        .start = file.start,
                                        .end = file.end},
                                       file.path));
}

class AskedProbes : public ProbeSet {
 public:
  Result<std::vector<EventFormat>> define(int file, int generation,
                                          std::span<const Probe> probes) override {
    // Its name alone: each close of a file that is open asks its file system.
    const UniqueFd name = name_of(file);
    TRY(const auto read, the_client->ask({.ask = Ask::kReadRoutines}, {}, name.get()));
    const Question question{
        .ask = Ask::kDefineProbes, .number = read.head.number, .generation = generation};
    std::vector<EventFormat> events;
    while (!probes.empty()) {
      const auto some = probes.first(std::min(probes.size(), kMostPoints));
      probes = probes.subspan(some.size());
      TRY(const auto reply, the_client->ask(question, points_of(some)));
      for (const EventFormat& event : reply.head.events)
        if (event.type != 0) events.push_back(event);
    }
    return events;
  }
  std::vector<std::string> remove() override {
    const auto reply = the_client->ask({.ask = Ask::kRemoveProbes});
    std::vector<std::string> left;
    if (!reply || reply->text.empty()) return left;
    for (const std::string_view line : split(reply->text, '\n')) left.emplace_back(line);
    return left;
  }

 private:
  static constexpr std::size_t kMostPoints = Channel::kMostText / sizeof(ProbePoint);

  static std::string points_of(std::span<const Probe> probes) {
    std::string bytes;
    for (const Probe& probe : probes) {
      const ProbePoint point{probe.entry.offset, probe.id, probe.kind};
      bytes.append(reinterpret_cast<const char*>(&point), sizeof point);
    }
    return bytes;
  }
};

Result<std::unique_ptr<ProbeSet>> ask_for_probes() {
  TRY(the_client->ask({.ask = Ask::kBeginProbes}));
  return std::make_unique<AskedProbes>();
}

std::string ended_by_zeros(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return text;
}

}  // namespace

MonitorClient::MonitorClient(Channel questions, Channel events, Channel hand,
                             std::chrono::milliseconds patience)
    : questions_(std::move(questions)),
      events_(std::move(events)),
      hand_(std::move(hand)),
      patience_(patience) {
  the_client = this;
  open_events_with(ask_for_event);
  open_foreign_with(ask_for_file);
  begin_probes_with(ask_for_probes);
}

MonitorClient::~MonitorClient() { the_client = nullptr; }

bool MonitorClient::hand_answers() const {
  pollfd answer{hand_.descriptor(), POLLIN, 0};
  return retry_interrupted(
             [&] { return ::poll(&answer, 1, static_cast<int>(patience_.count())); }) > 0;
}

Result<MonitorClient::Reply> MonitorClient::ask(const Question& question, std::string_view text,
                                                int fd) {
  const bool of_hand = is_for_hand(question.ask);
  const Channel& channel = of_hand ? hand_ : questions_;
  Reply reply;
  if (!of_hand || !hand_is_silent_) {
    if (!channel.send(question, text, fd))
      return environment_error(EPIPE, "the other half of hwprof has ended");
    if (of_hand && !hand_answers()) {
      hand_is_silent_ = true;
      spdlog::warn(
          "hwprof's privileged part has not answered for {} s: it waits in the kernel, for "
          "something that the observed user holds. What it was to open is not known",
          std::chrono::ceil<std::chrono::seconds>(patience_).count());
    }
  }
  if (of_hand && hand_is_silent_)
    return environment_error(ETIMEDOUT, "hwprof's privileged part does not answer");
  if (!channel.receive(reply.head, reply.text, reply.fd))
    return environment_error(EPIPE, "the other half of hwprof has ended");
  if (!reply.head.failed) return reply;
  const Fault fault = reply.head.usage ? Fault::kUsage : Fault::kEnvironment;
  return tl::make_unexpected(error_in(fault, reply.head.code, reply.text));
}

Result<pid_t> MonitorClient::start(const std::vector<std::string>& environment) {
  TRY(const auto reply, ask({.ask = Ask::kStart}, ended_by_zeros(environment)));
  return static_cast<pid_t>(reply.head.number);
}

Result<MonitorClient::Quiet> MonitorClient::start_quietly(
    const std::vector<std::string>& environment) {
  TRY(auto reply, ask({.ask = Ask::kStartQuietly}, ended_by_zeros(environment)));
  return Quiet{static_cast<pid_t>(reply.head.number), std::move(reply.fd)};
}

Result<void> MonitorClient::release() {
  TRY(ask({.ask = Ask::kRelease}));
  return {};
}

Result<CommandEnd> MonitorClient::wait() {
  CommandEnd end;
  std::string text;
  if (!events_.receive(end.facts, text))
    return environment_error(EPIPE, "the other half of hwprof has ended");
  if (end.facts.lost != 0)
    return environment_error(end.facts.lost,
                             fmt::format("wait4: {}", std::strerror(end.facts.lost)));
  end.left = processes_in(text);
  return end;
}

int MonitorClient::end_wanted() {
  const auto reply = ask({.ask = Ask::kEndWanted});
  return reply ? reply->head.number : 0;
}

// In messages, not in a file in memory: a limit on the size of files holds for that, too.
Result<void> MonitorClient::send_parts(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), Channel::kMostText)))
    TRY(ask({.ask = Ask::kPart}, bytes.substr(0, Channel::kMostText)));
  return {};
}

Result<void> MonitorClient::save_report(const std::string& bytes) {
  TRY(send_parts(bytes));
  TRY(ask({.ask = Ask::kSaveReport}));
  return {};
}

Result<void> MonitorClient::save_file(const std::string& path, const std::string& bytes) {
  TRY(send_parts(bytes));
  TRY(ask({.ask = Ask::kSaveFile}, path));
  return {};
}

void MonitorClient::finish(const Result<int>& exit_code) {
  if (exit_code) {
    static_cast<void>(ask({.ask = Ask::kFinish, .number = *exit_code}));
    return;
  }
  const Error& error = exit_code.error();
  static_cast<void>(
      ask({.ask = Ask::kFail, .pid = error.fault == Fault::kUsage ? 1 : 0, .number = error.code},
          text_of(error)));
}

}  // namespace hwprof::observe
