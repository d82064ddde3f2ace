#include "src/observe/monitor/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "src/base/unique_fd.h"

namespace hwprof::observe {
namespace {

// Debug information of a large program takes a gigabyte of addresses, the threads of a BLAS their
// buffers.
constexpr rlim_t kAddressSpace = rlim_t{4} << 30U, kAddressSpaceOfCpu = rlim_t{256} << 20U;
constexpr rlim_t kDescriptors = 65536;

// A library that is measured may make any other call: a list of those that are allowed would break
// the next BLAS. These lead out of the process.
constexpr int kForbidden[] = {
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(bpf),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsmount),
    SCMP_SYS(open_tree),
    SCMP_SYS(move_mount),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(acct),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(mknodat),
    SCMP_SYS(mknod),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fspick),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(process_madvise),
    SCMP_SYS(adjtimex),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(quotactl),
    SCMP_SYS(syslog),
};
constexpr const char* kNobodysSecrets[] = {
    "PATH=", "TERM=", "COLORTERM=", "COLUMNS=", "NO_COLOR=", "LANG=", "LC_", "TZ=", "HWPROF_"};
// To be root of a namespace of one's own opens much of the kernel.
constexpr scmp_datum_t kNamespaces[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,   CLONE_NEWPID,
                                        CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};

tl::unexpected<Error> refused(const char* what, int code) {
  return environment_error(
      code, fmt::format("hwprof cannot give its rights away ({}: {})", what, std::strerror(code)));
}

void raise_limit(__rlimit_resource which, rlim_t least) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return;
  limit.rlim_max = std::max(limit.rlim_max, least);
  limit.rlim_cur = std::max(limit.rlim_cur, least);
  // Where that is refused, what needs them will say so.
  if (::setrlimit(which, &limit) != 0) {
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(::setrlimit(which, &limit));
  }
}

// While there are capabilities to drop them with; an unknown number is the end of the set.
void drop_bounding_set() {
  for (unsigned long one = 0; ::prctl(PR_CAPBSET_DROP, one, 0UL, 0UL, 0UL) == 0; ++one) {
  }
}

Result<void> drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return refused("capset", errno);
  return {};
}

// Of termios2, whose header is at odds with the C library's <termios.h>.
struct KernelTermios2 {
  unsigned input, output, control, local;
  unsigned char line, characters[19];
  unsigned input_speed, output_speed;
};

// The terminal of whoever started hwprof is also the worker's standard error: to push input into
// it, or to stop its output (TCXONC, and hwprof would wait with its report), a descriptor for
// writing is enough (tty_ioctl(4)). Nothing here needs to change it.
constexpr unsigned long kTerminalChanges[] = {TIOCSTI,
                                              TIOCLINUX,
                                              TCXONC,
                                              TCFLSH,
                                              TCSBRK,
                                              TCSBRKP,
                                              TIOCSBRK,
                                              TIOCCBRK,
                                              TCSETS,
                                              TCSETSW,
                                              TCSETSF,
                                              TCSETA,
                                              TCSETAW,
                                              TCSETAF,
                                              _IOW('T', 0x2B, KernelTermios2),
                                              _IOW('T', 0x2C, KernelTermios2),
                                              _IOW('T', 0x2D, KernelTermios2),
                                              TIOCSLCKTRMIOS,
                                              TIOCSETD,
                                              TIOCEXCL,
                                              TIOCSPGRP,
                                              TIOCSWINSZ,
                                              TIOCCONS,
                                              TIOCSCTTY,
                                              TIOCNOTTY,
                                              TIOCVHANGUP,
                                              TIOCSSOFTCAR,
                                              TIOCSSERIAL,
                                              TIOCMSET,
                                              TIOCMBIS,
                                              TIOCMBIC};

Result<void> filter_system_calls() {
  const std::unique_ptr<void, decltype(&::seccomp_release)> filter(::seccomp_init(SCMP_ACT_ALLOW),
                                                                   &::seccomp_release);
  if (filter == nullptr) return refused("seccomp", ENOMEM);
  const auto deny = [&](int call, auto... conditions) {
    const int code =
        ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call,
                           static_cast<unsigned>(sizeof...(conditions)), conditions...);
    return code == 0 || code == -EDOM ? 0 : -code;  // EDOM: this architecture has no such call
  };
  for (const int call : kForbidden)
    if (const int code = deny(call)) return refused("seccomp", code);
  for (const unsigned long request : kTerminalChanges)
    if (const int code = deny(SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffUL, request)))
      return refused("seccomp", code);
  // Sockets within the machine serve libraries of names.
  if (const int code = deny(SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_UNIX)))
    return refused("seccomp", code);
  for (const scmp_datum_t space : kNamespaces)
    if (const int code = deny(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, space, space)))
      return refused("seccomp", code);
  // Its flags lie in memory, where no filter looks; the C library then takes clone.
  if (const int code =
          ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
      code != 0 && code != -EDOM)
    return refused("seccomp", -code);
  if (const int code = ::seccomp_load(filter.get())) return refused("seccomp", -code);
  return {};
}

// Linux 5.9; before that, and where a filter refuses the call, one by one.
void close_between(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0) == 0) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (unsigned fd = first; fd <= last && fd < std::max<rlim_t>(limit.rlim_max, kDescriptors); ++fd)
    ::close(static_cast<int>(fd));
}

}  // namespace

void leave_what_is_hwprofs(const std::vector<int>& kept) {
  ::setsid();  // else whoever takes it over reads the starter's terminal, by way of /dev/tty
  close_all_but(kept);
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(nothing.get(), standard);
}

void end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL), 0UL, 0UL, 0UL);
  if (::getppid() != parent) ::_exit(0);
}

void close_all_but(std::vector<int> kept) {
  unsigned next = STDERR_FILENO + 1;
  std::sort(kept.begin(), kept.end());
  for (const int fd : kept) {
    const auto end = static_cast<unsigned>(fd);
    if (end > next) close_between(next, end - 1);
    next = end + 1;
  }
  close_between(next, ~0U);
}

void keep_variables(std::span<const std::string> kept) {
  char** next = environ;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (std::any_of(kept.begin(), kept.end(),
                    [&](const std::string& name) { return variable.starts_with(name); })) {
      *next++ = *entry;
    } else {
      ::explicit_bzero(*entry, variable.size());
    }
  }
  if (next != nullptr) *next = nullptr;
}

void leave_what_is_the_starters(std::vector<std::string> kept) {
  kept.insert(kept.end(), std::begin(kNobodysSecrets), std::end(kNobodysSecrets));
  keep_variables(kept);
  ::setsid();  // else /dev/tty is the starter's terminal
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(nothing.get(), standard);
  if (::isatty(STDERR_FILENO) != 1) return;
  // A terminal is open for both as a rule. Where it cannot be had for writing alone, it is not had.
  const UniqueFd written(::open("/proc/self/fd/2", O_WRONLY | O_NOCTTY | O_CLOEXEC));
  ::dup2(written.valid() ? written.get() : nothing.get(), STDERR_FILENO);
}

Result<void> enter_sandbox(const Account& account, std::vector<int> kept) {
  close_all_but(std::move(kept));
  const bool was_root = ::geteuid() == 0;
  const pid_t parent = ::getppid();
  raise_limit(RLIMIT_NOFILE, kDescriptors);
  const auto cpus = static_cast<rlim_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0) {
    space.rlim_cur = std::min(space.rlim_cur, kAddressSpace + cpus * kAddressSpaceOfCpu);
    space.rlim_max = std::min(space.rlim_max, space.rlim_cur);
    if (::setrlimit(RLIMIT_AS, &space) != 0) return refused("setrlimit", errno);
  }
  if (was_root) {
    drop_bounding_set();
    if (!become(account)) return refused("setuid", errno);
  }
  TRY(drop_capabilities());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return refused("prctl", errno);
  // Another process of that user must not take this one over, and with it what the monitor does.
  if (was_root) ::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL), 0UL, 0UL, 0UL);
  if (::getppid() != parent) return refused("its parent has ended", ESRCH);
  return filter_system_calls();
}

}  // namespace hwprof::observe
