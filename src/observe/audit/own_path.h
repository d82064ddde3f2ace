// The paths of files that the loader has mapped, in the audit library.
#pragma once

#include <fcntl.h>
#include <link.h>

#include "src/observe/audit/system_call.h"

namespace hwprof::observe::audit {

// Of the program: the loader's own name for it is empty.
inline char own_path[kPathBytes];

inline void find_own_path() {
  const long length =
      system_call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                  reinterpret_cast<long>(own_path), sizeof(own_path) - 1);
  own_path[length > 0 ? length : 0] = '\0';
}

inline const char* path_of(const link_map* object) {
  return object->l_name != nullptr && *object->l_name != '\0' ? object->l_name : own_path;
}

}  // namespace hwprof::observe::audit
