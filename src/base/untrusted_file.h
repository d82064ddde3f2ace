// Files that another user may have made, or put something else in place of: a pipe that makes its
// reader wait, a link that leads elsewhere, a device that never ends, more than memory holds. The
// one way to open such a file, and to read it whole.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

// What was found with O_PATH, and looked at: to open a device may do something, to open a pipe
// waits.
UniqueFd reopen(const UniqueFd& found, int flags);

struct FileRules {
  bool follow_link = false;         // the last name of the path may be a link
  std::optional<uid_t> owner = {};  // the file is this user's, or root's
  std::uint64_t most_bytes = ~std::uint64_t{0};
};

// A regular file, open to be read; never waits. Error::code is the errno, 0 where a rule is broken.
Result<UniqueFd> open_untrusted(const std::string& path, const FileRules& rules);

// All that it held when it was opened. An error where it became shorter meanwhile.
Result<std::string> read_untrusted(const std::string& path, const FileRules& rules);

}  // namespace hwprof
