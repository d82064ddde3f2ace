// Where there is no exact counting: on other CPUs than x86-64.
#include "src/exact/exact.h"

namespace hwprof::exact {

Result<void> check_available() {
  return environment_error(0, "exact counting is not built: it is for x86-64 only");
}

Result<Counted> count_call(void (*)(void*), void*, Engine) { return error_from(check_available()); }

}  // namespace hwprof::exact
