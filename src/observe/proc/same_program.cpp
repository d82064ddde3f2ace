#include "src/observe/proc/same_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "src/base/text.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

constexpr int kTries = 32;
constexpr unsigned kPauseUs = 200;

constexpr std::size_t kFirst = 3, kMinor = 10, kMajor = 12;  // numbers in proc(5)
// startcode, endcode, startstack; start_data, end_data, start_brk, arg_ and env_ start and end.
constexpr std::array<std::size_t, 10> kAddresses{26, 27, 28, 45, 46, 47, 48, 49, 50, 51};

std::optional<ProgramMarks> marks_of(pid_t pid) {
  const auto text = read_text_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const auto marks = program_marks_in(*text);
  if (!marks) errno = ESRCH;
  return marks;
}

}  // namespace

std::optional<ProgramMarks> program_marks_in(std::string_view stat) {
  const std::vector<std::string_view> fields = stat_fields(stat);
  if (fields.size() <= kAddresses.back() - kFirst) return std::nullopt;
  const auto number = [&](std::size_t field) { return parse_unsigned(fields[field - kFirst]); };
  const auto minor = number(kMinor), major = number(kMajor);
  if (!minor || !major) return std::nullopt;
  ProgramMarks marks{*minor + *major, {}};
  for (std::size_t i = 0; i < kAddresses.size(); ++i) {
    const auto address = number(kAddresses[i]);
    if (!address) return std::nullopt;
    marks.addresses[i] = *address;
  }
  return marks;
}

UniqueFd open_of_one_program(pid_t pid, const std::function<UniqueFd()>& open) {
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) ::usleep(kPauseUs);
    const auto before = marks_of(pid);
    if (!before) return {};
    UniqueFd file = open();
    if (!file.valid()) return {};
    const auto after = marks_of(pid);
    if (!after) return {};
    if (*after == *before) return file;
  }
  errno = EAGAIN;
  return {};
}

}  // namespace hwprof::observe
