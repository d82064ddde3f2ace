#include "src/observe/proc/same_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

constexpr int kTries = 32;
constexpr unsigned kPauseUs = 200;

}  // namespace

std::optional<std::uint64_t> page_faults_of(pid_t pid) {
  const auto text = read_text_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const std::vector<std::string_view> fields = stat_fields(*text);
  constexpr std::size_t kFirst = 3, kMinor = 10, kMajor = 12;  // numbers in proc(5)
  const auto minor =
      fields.size() > kMajor - kFirst ? parse_unsigned(fields[kMinor - kFirst]) : std::nullopt;
  const auto major = minor ? parse_unsigned(fields[kMajor - kFirst]) : std::nullopt;
  if (major) return *minor + *major;
  errno = ESRCH;
  return std::nullopt;
}

UniqueFd open_of_one_program(pid_t pid, const std::function<UniqueFd()>& open) {
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) ::usleep(kPauseUs);
    const auto before = page_faults_of(pid);
    if (!before) return {};
    UniqueFd file = open();
    if (!file.valid()) return {};
    const auto after = page_faults_of(pid);
    if (!after) return {};
    if (*after == *before) return file;
  }
  errno = EAGAIN;
  return {};
}

}  // namespace hwprof::observe
