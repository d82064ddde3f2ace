// A /proc whose folders nobody else can hold. Whoever may read a folder can keep its lock
// (errands.h), that of anybody's process, or /proc itself, included. The lock belongs to the mount:
// each mount of procfs has folders of its own (Linux 5.8).
#pragma once

namespace hwprof {

enum class ProcFor { kHwprofAlone, kCommands };

// Of hwprof as root, before it has threads or anything else. Where it runs no command of a user's,
// it and its children see /proc through a mount of their own, in a mount namespace of their own
// that shares all others with the machine, as far as that shares any. Where that is refused (a
// container), or would show something else (what is mounted below /proc), and for commands, who
// shall see the mounts that there are, what hwprof looks up of itself is kept in the kernel's
// cache, where no lock is asked for.
void guard_proc(ProcFor whom);

}  // namespace hwprof
