#include "src/observe/monitor/protocol.h"

namespace hwprof::observe {

bool send_answer(const Channel& to, Result<Answer> answered, std::string said,
                 const UniqueFd& given) {
  if (!answered) {
    const Error& error = answered.error();
    said = error.what + '\0' + error.hint;
    answered = Answer{
        .code = error.code, .failed = true, .usage = error.fault == Fault::kUsage, .events = {}};
  }
  if (said.size() > Channel::kMostText) said.resize(Channel::kMostText);
  return to.send(*answered, said, given.get());
}

}  // namespace hwprof::observe
