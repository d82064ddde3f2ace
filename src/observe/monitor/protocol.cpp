#include "src/observe/monitor/protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"

namespace hwprof::observe {

std::string text_of(const Error& error) { return error.what + '\0' + error.hint; }

Error error_in(Fault fault, int code, std::string_view text) {
  const auto parts = split(text, '\0');
  return {fault, code, std::string(parts[0]), parts.size() > 1 ? std::string(parts[1]) : ""};
}

std::string text_of(const LeftProcess& process) {
  return fmt::format("{} {}", process.pid, process.name) + '\0';
}

std::vector<LeftProcess> processes_in(std::string_view text) {
  std::vector<LeftProcess> processes;
  for (const std::string_view one : split(text, '\0')) {
    const auto blank = std::min(one.find(' '), one.size());
    if (const auto pid = parse_int(one.substr(0, blank)))
      processes.push_back({*pid, std::string(one.substr(std::min(blank + 1, one.size())))});
  }
  return processes;
}

bool send_answer(const Channel& to, Result<Answer> answered, std::string said,
                 const UniqueFd& given) {
  if (!answered) {
    const Error& error = answered.error();
    said = text_of(error);
    answered = Answer{
        .code = error.code, .failed = true, .usage = error.fault == Fault::kUsage, .events = {}};
  }
  if (said.size() > Channel::kMostText) said.resize(Channel::kMostText);
  return to.send(*answered, said, given.get());
}

}  // namespace hwprof::observe
