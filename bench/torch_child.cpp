#include "bench/torch_child.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace hwprof::bench {

using nlohmann::json;

TorchChild::~TorchChild() {
  channel_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

void TorchChild::start(std::string python, std::string script) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    missing_ = fmt::format("cannot make a socket: {}", std::strerror(errno));
    return;
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  const std::array<char*, 3> arguments{python.data(), script.data(), nullptr};
  const int failed =
      ::posix_spawnp(&pid_, python.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = -1;
    missing_ = fmt::format("cannot start {}: {}", python, std::strerror(failed));
    return;
  }
  channel_ = std::move(ours);
  missing_.clear();
}

// One line of JSON each way. An answer has "error" or what was asked for.
Result<std::string> TorchChild::ask(const std::string& line) {
  if (!channel_.valid()) return environment_error(0, missing_);
  const std::string sent = line + '\n';
  // MSG_NOSIGNAL: a child that has gone is an error, not the end of us.
  if (::send(channel_.get(), sent.data(), sent.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(sent.size())) {
    return environment_error(errno, "the child has gone");
  }
  std::string answer;
  char byte = 0;
  while (true) {
    const ssize_t got = retry_interrupted([&] { return ::read(channel_.get(), &byte, 1); });
    if (got != 1) return environment_error(0, "the child has gone");
    if (byte == '\n') break;
    answer += byte;
  }
  const json parsed = json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return environment_error(0, "unreadable answer: " + answer);
  if (parsed.contains("error")) return environment_error(0, parsed.value("error", answer));
  return answer;
}

Result<void> TorchChild::prepare(const std::string& spec) {
  const Result<std::string> answer = ask(spec);
  if (!answer) return error_of(answer);
  return {};
}

Result<double> TorchChild::slice_ns(double seconds) {
  const Result<std::string> answer = ask(fmt::format(R"({{"slice_s": {}}})", seconds));
  if (!answer) return error_of(answer);
  return json::parse(*answer).value("call_ns", 0.0);
}

Result<std::string> TorchChild::version() {
  const Result<std::string> answer = ask(R"({"op": "version"})");
  if (!answer) return error_of(answer);
  return json::parse(*answer).value("version", "");
}

}  // namespace hwprof::bench
