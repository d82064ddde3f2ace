// How hwprof was started, whatever it has changed in itself since.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace hwprof {

// A worker that has given its rights away belongs to root all the same.
bool launched_by_root();

// What to do where no descriptor is left (EMFILE): names a limit well above that of now.
inline std::string more_descriptors() {
  rlimit limit{};
  const rlim_t now = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
  return "raise the limit: ulimit -n " + std::to_string(std::max<rlim_t>(4096, 4 * now));
}

}  // namespace hwprof
