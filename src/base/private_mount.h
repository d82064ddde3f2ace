// A mount that nobody finds in a folder, for its owner's descriptors alone.
#pragma once

#include <string_view>

#include "src/base/unique_fd.h"

namespace hwprof {

// Of a file system without a device, "proc"; `options` as /proc/PID/mountinfo has them, "rw,gid=4".
// No name is looked up for it. Not valid, with errno: it is refused, or Linux is older than 5.2.
UniqueFd private_mount(const char* file_system, std::string_view options = "");

}  // namespace hwprof
