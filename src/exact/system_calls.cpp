#include "src/exact/system_calls.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace hwprof::exact {

Judgement judge(const SystemCall& call, const CodeRanges& ranges) {
  const auto changes_code_if = [](bool changes) {
    return Judgement{changes ? Consequence::kCodeChanges : Consequence::kNone, nullptr};
  };
  const std::uint64_t end = call.first + call.second;
  switch (call.number) {
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
      return {Consequence::kLeave, "starts a thread or a process, which would not be counted"};
    case SYS_execve:
    case SYS_execveat:
      return {Consequence::kLeave, "replaces the program"};
    case SYS_rt_sigreturn:
    case SYS_exit:
    case SYS_exit_group:
      return {Consequence::kLeave, "ends what is counted"};
    case SYS_seccomp:
    case SYS_arch_prctl:
    case SYS_modify_ldt:
      return {Consequence::kLeave, "changes how this thread may run"};
    case SYS_prctl:
      if (call.first == PR_SET_SECCOMP || call.first == PR_SET_SYSCALL_USER_DISPATCH)
        return {Consequence::kLeave, "changes how this thread may run"};
      return {};
    case SYS_mmap:
      return changes_code_if((call.third & PROT_EXEC) != 0 ||
                             ((call.fourth & MAP_FIXED) != 0 && ranges.overlap(call.first, end)));
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return changes_code_if((call.third & PROT_EXEC) != 0 || ranges.overlap(call.first, end));
    case SYS_munmap:
    case SYS_mremap:
      return changes_code_if(ranges.overlap(call.first, end));
    case SYS_shmat:
    case SYS_shmdt:
    case SYS_remap_file_pages:
      return changes_code_if(true);
    default:
      return {};
  }
}

}  // namespace hwprof::exact
