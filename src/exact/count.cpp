// What both engines need around a region, and the sums behind it.
#include <asm/prctl.h>
#include <cpuid.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/sanitized.h"
#include "src/exact/engines.h"
#include "src/exact/exact.h"
#include "src/exact/other_threads.h"

namespace hwprof::exact {
namespace {

thread_local bool counting = false;

// Linux 6.6; older headers do not have it.
constexpr int kShadowStackStatus = 0x5005;

bool has_shadow_stack() {
  unsigned long features = 0;
  return syscall(SYS_arch_prctl, kShadowStackStatus, &features) == 0 && features != 0;
}

}  // namespace

std::size_t state_bytes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(1, 0, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
  if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) == 0) return 0;
  return c;
}

std::size_t state_offset(unsigned component) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0xd, component, &a, &b, &c, &d) == 0 ? 0 : b;
}

Result<void> check_available() {
  constexpr auto kNot = "exact counting is not possible here: ";
  if (HWPROF_SANITIZED != 0)
    return environment_error(0, fmt::format("{}this hwprof is built with a sanitizer", kNot));
  if (counting)
    return environment_error(
        0, fmt::format("{}this thread is being counted, or has jumped out of what was", kNot));
  if (has_shadow_stack())
    return environment_error(0,
                             fmt::format("{}the CPU guards return addresses (shadow stack)", kNot),
                             "run with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off");
  if (state_bytes() == 0)
    return environment_error(0, fmt::format("{}the CPU cannot save its vectors (XSAVE)", kNot));
  return {};
}

Result<Counted> count_call(void (*run)(void*), void* argument, Engine engine) {
  TRY(check_available());
  warm_up();
  const auto count_with = engine == Engine::kBlocks ? count_blocks : count_steps;
  counting = true;
  const OtherThreads before = OtherThreads::at_rest();
  Result<Counted> counted = count_with(run, argument);
  const OtherThreads after = OtherThreads::now();
  counting = false;
  if (!counted) return counted;
  if (const auto others = before.ran_until(after); others) {
    return environment_error(
        0, fmt::format("not counted: {} meanwhile, and only one thread can be counted", *others),
        "count on one thread (OPENBLAS_NUM_THREADS=1, OMP_NUM_THREADS=1)");
  }
  return counted;
}

}  // namespace hwprof::exact
