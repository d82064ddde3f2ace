#include "tests/fuse_of_user.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

namespace {

constexpr unsigned kLongestLife = 40;  // seconds
constexpr std::uint64_t kFile = 2;     // its number; that of the root is 1
constexpr std::size_t kFileBytes = 65536;

template <class Body>
void send(int fuse, std::uint64_t request, const Body& body) {
  std::array<char, sizeof(fuse_out_header) + sizeof body> bytes{};
  const fuse_out_header head{static_cast<std::uint32_t>(bytes.size()), 0, request};
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, &body, sizeof body);
  static_cast<void>(::write(fuse, bytes.data(), bytes.size()) > 0);
}

void send_code(int fuse, std::uint64_t request, int code) {
  const fuse_out_header head{sizeof head, -code, request};
  static_cast<void>(::write(fuse, &head, sizeof head) > 0);
}

fuse_attr attributes_of(std::uint64_t node) {
  fuse_attr attributes{};
  attributes.ino = node;
  attributes.nlink = 1;
  attributes.uid = ::getuid();
  attributes.gid = ::getgid();
  attributes.mode = node == kFile ? S_IFREG | 0777U : S_IFDIR | 0777U;
  attributes.size = node == kFile ? kFileBytes : 0;
  attributes.blksize = 4096;
  return attributes;
}

void write_text(const char* path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

void become_nobody() {
  if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(1);
  ::prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
}

IdleProcess::~IdleProcess() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

pid_t start_idle_process() {
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    become_nobody();
    ::close(ready[0]);
    ::close(ready[1]);  // and now it may be looked into
    ::alarm(kLongestLife);
    while (true) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  static_cast<void>(::read(ready[0], &byte, 1) > 0);  // the pipe's end
  ::close(ready[0]);
  return pid;
}

FuseOfUser::FuseOfUser(Held held, pid_t task, std::string locked)
    : held_(held), locked_(std::move(locked)) {
  std::string folder = std::filesystem::temp_directory_path() / "fuse-of-user-XXXXXX";
  folder_ = ::mkdtemp(folder.data()) == nullptr ? "/" : folder;
  ::chmod(folder_.c_str(), 0755);
  for (const char* part : {"/fuse", "/lower", "/overlay"}) {
    std::filesystem::create_directory(folder_ + part);
    ::chmod((folder_ + part).c_str(), 0777);
  }
  // Everybody's, as distributions have it; root's alone where no udev has been.
  const std::string device = folder_ + "/device";
  if (::mknod(device.c_str(), S_IFCHR | 0666, ::makedev(10, 229)) == 0)
    ::chmod(device.c_str(), 0666);
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  shared_ = new (memory) Shared();
  holder_ = ::fork();
  if (holder_ == 0) {
    hold(task);
    ::_exit(0);
  }
  const bool holds = held == Held::kReadOfEvent || held == Held::kExecve || held == Held::kFolder;
  for (int i = 0; i < 10'000 && shared_->missing[0] == '\0'; ++i, ::usleep(1000))
    if (holds ? shared_->held.load() : shared_->ready.load()) return;
  if (shared_->missing[0] == '\0') give_up("nobody waits for it");
}

FuseOfUser::~FuseOfUser() {
  if (shared_->server != 0) ::kill(shared_->server, SIGKILL);
  ::kill(holder_, SIGKILL);
  ::waitpid(holder_, nullptr, 0);
  ::munmap(shared_, sizeof(Shared));
  std::filesystem::remove_all(folder_);
}

std::string FuseOfUser::path() const {
  return "/proc/" + std::to_string(holder_) + "/root" + folder_ +
         (held_ == Held::kAttributes ? "/overlay/f" : "/fuse/f");
}

void FuseOfUser::give_up(const char* what) {
  std::snprintf(shared_->missing, sizeof shared_->missing, "%s: %s", what, std::strerror(errno));
}

// Root, where it mounts for everybody, does so in a namespace of its own as well.
void FuseOfUser::enter_namespaces() {
  if (held_ == Held::kFileSystemFacts) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      give_up("unshare");
    return;
  }
  become_nobody();
  const std::string user = std::to_string(::getuid()), group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return give_up("unshare");
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", user + " " + user + " 1");
  write_text("/proc/self/gid_map", group + " " + group + " 1");
}

// The process that has the file system in its root, and in two cases waits for it itself.
void FuseOfUser::hold(pid_t task) {
  ::alarm(kLongestLife);
  int event = -1;
  if (held_ == Held::kReadOfEvent) {
    become_nobody();
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.exclude_kernel = 1;
    event = static_cast<int>(::syscall(SYS_perf_event_open, &attr, task, -1, -1, 0));
    if (event < 0) return give_up("perf_event_open");
  }
  const int locked =
      held_ == Held::kFolder ? ::open(locked_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  enter_namespaces();
  int fuse = ::open((folder_ + "/device").c_str(), O_RDWR | O_CLOEXEC);
  if (fuse < 0) fuse = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fuse < 0) return give_up("/dev/fuse");
  const bool everybody = held_ == Held::kFileSystemFacts;
  const std::string options = "fd=" + std::to_string(fuse) + ",rootmode=40777,user_id=" +
                              std::to_string(everybody ? 65534 : ::getuid()) +
                              ",group_id=" + std::to_string(everybody ? 65534 : ::getgid()) +
                              (everybody ? ",allow_other" : "");
  if (::mount("test", (folder_ + "/fuse").c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) !=
      0)
    return give_up("mount of a FUSE file system");
  if (everybody) become_nobody();
  const pid_t server = ::fork();
  if (server == 0) serve(fuse);
  shared_->server = server;
  ::close(fuse);
  const std::string lower = "lowerdir=" + folder_ + "/fuse:" + folder_ + "/lower";
  if (held_ == Held::kAttributes &&
      ::mount("overlay", (folder_ + "/overlay").c_str(), "overlay", 0, lower.c_str()) != 0)
    return give_up("mount of an overlayfs");
  if (held_ == Held::kReadOfEvent || held_ == Held::kExecve || held_ == Held::kFolder) {
    const int file = ::open((folder_ + "/fuse/f").c_str(), O_RDWR | O_CLOEXEC);
    void* memory = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return give_up("mmap");
    shared_->armed = held_ != Held::kExecve;
    if (held_ == Held::kFolder) return read_folder(locked, memory);
    if (held_ == Held::kReadOfEvent) {
      static_cast<void>(::read(event, memory, sizeof(std::uint64_t)) > 0);
    } else {
      *static_cast<char*>(memory) = 1;
      shared_->armed = true;
      ::execl("/bin/sleep", "sleep", "40", nullptr);
    }
    return;
  }
  shared_->ready = true;
  while (true) ::pause();
}

// Who reads a folder shares its lock; who would make a file in it waits for the lock, and behind
// him everybody who looks a new name up.
void FuseOfUser::read_folder(int folder, void* memory) const {
  if (::fork() == 0) {
    ::alarm(kLongestLife);
    while (!shared_->held) ::usleep(1000);
    ::open((locked_ + "/no-such-file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::_exit(0);
  }
  ::syscall(SYS_getdents64, folder, memory, kFileBytes);
}

void FuseOfUser::serve(int fuse) {
  ::alarm(kLongestLife);
  static std::array<char, std::size_t{1} << 20U> request;
  while (true) {
    const ssize_t got = ::read(fuse, request.data(), request.size());
    if (got >= 0) {
      answer(fuse, request.data());
    } else if (errno != EINTR && errno != ENOENT) {
      ::_exit(0);
    }
  }
}

void FuseOfUser::answer(int fuse, const char* request) {
  fuse_in_header head{};
  std::memcpy(&head, request, sizeof head);
  const auto held = [&](Held what) {
    if (held_ != what || !shared_->armed) return false;
    shared_->held = true;
    return true;
  };
  switch (head.opcode) {
    case FUSE_INIT: {
      fuse_init_out out{};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = 31;
      out.max_write = 65536;
      return send(fuse, head.unique, out);
    }
    case FUSE_LOOKUP: {
      if (std::strcmp(request + sizeof head, "f") != 0) return send_code(fuse, head.unique, ENOENT);
      fuse_entry_out out{};
      out.nodeid = kFile;
      out.entry_valid = 1000;
      out.attr = attributes_of(kFile);
      return send(fuse, head.unique, out);
    }
    case FUSE_GETATTR: {
      if (head.nodeid == kFile && held(Held::kAttributes)) return;
      fuse_attr_out out{};
      out.attr = attributes_of(head.nodeid);
      return send(fuse, head.unique, out);
    }
    case FUSE_STATFS: {
      if (held(Held::kFileSystemFacts)) return;
      fuse_statfs_out out{};
      out.st.bsize = 4096;
      out.st.namelen = 255;
      return send(fuse, head.unique, out);
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR:
      return send(fuse, head.unique, fuse_open_out{});
    case FUSE_READ: {
      if (held(Held::kReadOfEvent) || held(Held::kFolder)) return;
      return send(fuse, head.unique, std::array<char, 4096>{});
    }
    case FUSE_WRITE: {
      if (held(Held::kExecve)) return;
      return send(fuse, head.unique, fuse_write_out{4096, 0});
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_ACCESS:
      return send_code(fuse, head.unique, 0);
    default:
      return send_code(fuse, head.unique, ENOSYS);
  }
}
