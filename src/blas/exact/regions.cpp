// Entries to a region of libhwprof, counted from the return of hwprof_enter() to hwprof_leave().
// What hwprof itself does in between is known by its files (exact_calls.cpp).
//
// Calls of the functions below, from one region to the next, come to native code and to code that
// is being counted alike.
#include <cerrno>
#include <memory>
#include <utility>

#include "counters/regions/region_watcher.h"
#include "src/blas/exact/leave_count.h"
#include "src/exact/open_region.h"
#include "src/observe/audit/handover.h"

extern "C" {
// Written by the audit library, which finds it by its name.
__attribute__((visibility("default"))) hwprof::observe::audit::RegionHandover hwprof_exact_regions;
__attribute__((visibility("default"))) const hwprof::RegionWatcher* hwprof_watch_regions_1();
// Has hwprof_exact_begin_region() choose, and goes on where that says.
__attribute__((visibility("hidden"))) void hwprof_exact_entered(const char* name,
                                                                std::uint64_t ticket);
__attribute__((visibility("hidden"), used)) const void* hwprof_exact_begin_region(
    const char* name, std::uint64_t ticket, const void* return_address);
__attribute__((visibility("hidden"), noinline)) void hwprof_exact_end_region();
}

// In place of a return it jumps to the translation of the return address. The registers that a
// caller expects to find again are those that a function has kept.
// clang-format off: as the assembler has it
asm(R"(
  .text
  .balign 16
  .globl hwprof_exact_entered
  .hidden hwprof_exact_entered
  .type hwprof_exact_entered, @function
hwprof_exact_entered:
  .cfi_startproc
  endbr64
  movq (%rsp), %rdx
  subq $8, %rsp
  .cfi_def_cfa_offset 16
  call hwprof_exact_begin_region
  addq $8, %rsp
  .cfi_def_cfa_offset 8
  testq %rax, %rax
  jz 1f
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  jmpq *%rax
1:
  .cfi_adjust_cfa_offset 8
  ret
  .cfi_endproc
  .size hwprof_exact_entered, . - hwprof_exact_entered
)");
// clang-format on

namespace hwprof::blas {
namespace {

// The region of this thread that is being counted. Not an object with a destructor: a thread that
// ends in its region ends in the translation; a child of fork() has left all regions.
struct Current {
  exact::OpenRegion* region;  // nullptr: none
  std::uint64_t ticket, call;
  double declared_flops;
};
__thread Current current __attribute__((tls_model("initial-exec")));

observe::audit::ExactCalls& wanted() { return *hwprof_exact_regions.wanted; }

std::unique_ptr<CountHead> head_of(std::uint64_t call) {
  auto head = std::make_unique<CountHead>();
  head->call = call;
  head->of_region = 1;
  copy_bounded(head->name, wanted().name);
  return head;
}

// By no function of the C library: in a region that is being counted it would be counted, too.
bool is_wanted(const char* name) {
  for (const char& letter : wanted().name) {
    if (letter != *name) return false;
    if (*name++ == '\0') return true;
  }
  return false;
}

// Whether an entry is one of those that are asked for: its number, else 0.
std::uint64_t chosen(const char* name) {
  if (!is_wanted(name)) return 0;
  const std::uint64_t call = wanted().choose();
  // Inside one that is being counted it is part of that.
  if (call == 0 || current.region != nullptr) return 0;
  // To count takes system calls that the program's filter may end it for.
  if (observe::audit::load(*hwprof_exact_regions.asks_nothing) != 0) {
    observe::audit::add(wanted().filtered);
    return 0;
  }
  observe::audit::add(wanted().handed_over);
  return call;
}

void leaving(std::uint64_t ticket) {
  if (current.region != nullptr && ticket <= current.ticket) hwprof_exact_end_region();
}

void declared(double flops) {
  if (current.region != nullptr) current.declared_flops += flops;
}

constexpr RegionWatcher kWatcher{
    .entered = hwprof_exact_entered, .leaving = leaving, .declared = declared};

}  // namespace
}  // namespace hwprof::blas

const hwprof::RegionWatcher* hwprof_watch_regions_1() {
  return hwprof_exact_regions.wanted == nullptr ? nullptr : &hwprof::blas::kWatcher;
}

const void* hwprof_exact_begin_region(const char* name, std::uint64_t ticket,
                                      const void* return_address) {
  using namespace hwprof;
  using namespace hwprof::blas;
  const std::uint64_t call = chosen(name);
  if (call == 0) return nullptr;
  const int error = errno;
  const auto entered =
      exact::count_from(return_address, reinterpret_cast<const void*>(hwprof_exact_end_region));
  if (!entered) leave_count(*head_of(call), error_of(entered));
  errno = error;
  if (!entered) return nullptr;
  current = {.region = entered->region, .ticket = ticket, .call = call, .declared_flops = 0};
  return entered->code;
}

void hwprof_exact_end_region() {
  using namespace hwprof;
  using namespace hwprof::blas;
  const int error = errno;
  const auto counted = exact::end_region(std::exchange(current.region, nullptr));
  const auto head = head_of(current.call);
  head->declared_flops = current.declared_flops;
  leave_count(*head, counted);
  errno = error;
}
