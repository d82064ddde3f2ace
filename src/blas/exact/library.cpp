// libhwprof-exact.so: preloaded into a program of which a call is to be counted instruction by
// instruction, and asleep until the audit library hands it that call (exact_call.h there). It lives
// in the program's own namespace, since what it counts with needs the C library; of C++ it has its
// own copy inside, and shows nothing of it, so that the program's is the only one that it sees. The
// program's errno and floating-point state are, before and behind the routine, as if it were not
// there.
#include <cerrno>
#include <memory>

#include "src/blas/exact/call_through.h"
#include "src/blas/exact/leave_count.h"
#include "src/observe/audit/handover.h"

namespace hwprof::blas {
namespace {

std::unique_ptr<CountHead> take(observe::audit::Handover& handover, PassedCall& call) {
  auto owner = std::make_unique<CountHead>();
  CountHead& head = *owner;
  head.call = handover.call;
  head.has_shape = handover.has_shape ? 1 : 0;
  head.shape = handover.shape;
  copy_bounded(head.name, handover.symbol);
  copy_bounded(head.caller, handover.caller);
  copy_bounded(head.library, handover.library);
  call.routine = handover.routine;
  call.stack_words = handover.stack_words;
  __atomic_store_n(&handover.busy, 0, __ATOMIC_RELEASE);
  return owner;
}

struct Region {
  PassedCall& call;
  int& current_errno;  // this thread's
  int error;           // as the program has it
  bool ran = false;
};

void run(void* argument) {
  auto& region = *static_cast<Region*>(argument);
  region.ran = true;
  region.current_errno = region.error;
  hwprof_exact_call(&region.call);
  region.error = region.current_errno;
}

}  // namespace
}  // namespace hwprof::blas

void hwprof_exact_take_call(hwprof::blas::PassedCall* call) {
  using namespace hwprof;
  using namespace hwprof::blas;
  int& error = errno;
  Region region{.call = *call, .current_errno = error, .error = error};
  const auto head = take(*reinterpret_cast<observe::audit::Handover*>(call->handover), *call);
  const auto counted = exact::count_call(run, &region, exact::Engine::kBlocks);
  if (!region.ran) run(&region);
  leave_count(*head, counted);
  error = region.error;
}
