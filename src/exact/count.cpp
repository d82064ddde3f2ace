// What both engines need around a region, and the sums behind it.
#include <asm/prctl.h>
#include <cpuid.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "src/base/sanitized.h"
#include "src/exact/engines.h"
#include "src/exact/exact.h"
#include "src/exact/open_blocks.h"
#include "src/exact/open_region.h"
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

// What stands before a region and behind it. In between this thread is being counted.
Result<OtherThreads> begin_counting() {
  TRY(check_available());
  warm_up();
  counting = true;
  return OtherThreads::at_rest();
}

Result<Counted> end_counting(const OtherThreads& before, Result<Counted> counted) {
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
  const auto count_with = engine == Engine::kBlocks ? count_blocks : count_steps;
  TRY(const OtherThreads before, begin_counting());
  return end_counting(before, count_with(run, argument));
}

class OpenRegion {
 public:
  OpenRegion(OtherThreads before, OpenBlocks blocks)
      : before_(std::move(before)), blocks_(std::move(blocks)) {}
  [[nodiscard]] const void* code() const { return blocks_.code(); }
  Result<Counted> end() { return end_counting(before_, blocks_.end()); }

 private:
  OtherThreads before_;
  OpenBlocks blocks_;
};

Result<Entered> count_from(const void* from, const void* ends_at) {
  TRY(OtherThreads before, begin_counting());
  auto blocks = OpenBlocks::begin(from, ends_at);
  if (!blocks) {
    counting = false;
    return error_of(blocks);
  }
  // Not in a variable of the thread's: what ends with it would be taken from under its feet.
  auto* region = new OpenRegion(std::move(before), *std::move(blocks));
  return Entered{region, region->code()};
}

Result<Counted> end_region(OpenRegion* region) {
  const std::unique_ptr<OpenRegion> owner(region);
  return owner->end();
}

}  // namespace hwprof::exact
