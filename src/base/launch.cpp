#include "src/base/launch.h"

#include <sys/auxv.h>

namespace hwprof {

bool launched_by_root() { return ::getauxval(AT_EUID) == 0; }

}  // namespace hwprof
