#include "src/observe/elf/jit_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/base/text.h"
#include "src/base/unique_fd.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMaximumBytes = 64U << 20U;

}  // namespace

JitMap JitMap::parse(std::string_view text) {
  JitMap map;
  for (std::string_view line : split(text, '\n')) {
    const auto first = line.find(' ');
    const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos) continue;
    const auto start = parse_unsigned(line.substr(0, first), 16);
    const auto size = parse_unsigned(line.substr(first + 1, second - first - 1), 16);
    const std::string_view name = trim(line.substr(second + 1));
    // A later line names what was generated in the same place later.
    if (start && size && *size > 0 && !name.empty()) {
      map.functions_.insert_or_assign(*start, Function{*size, std::string(name)});
    }
  }
  return map;
}

Result<JitMap> JitMap::load(const std::string& path, unsigned observed_user) {
  // O_NONBLOCK: a pipe put there must not make us wait.
  const UniqueFd file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) {
    const int code = errno;
    return environment_error(
        code, code == ELOOP ? fmt::format("{} is a symbolic link and is not believed", path)
                            : fmt::format("cannot open {}: {}", path, std::strerror(code)));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return environment_error(0, fmt::format("{} is no regular file and is not believed", path));
  }
  if (status.st_uid != observed_user && status.st_uid != 0) {
    return environment_error(
        0, fmt::format("{} belongs to user {}, not to user {} whose program is observed: it is not "
                       "believed",
                       path, status.st_uid, observed_user));
  }
  std::string text;
  std::string buffer(64U << 10U, '\0');
  while (text.size() < kMaximumBytes) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, 0, static_cast<std::size_t>(got));
  }
  return parse(text);
}

std::string JitMap::symbol(std::uint64_t address) const {
  auto found = functions_.upper_bound(address);
  if (found == functions_.begin()) return "";
  --found;
  return address - found->first < found->second.size ? found->second.name : "";
}

}  // namespace hwprof::observe
