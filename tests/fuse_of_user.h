// A file system that a user has made for himself (FUSE, in namespaces of his own) and that leaves
// one kind of request without an answer: whoever waits for that waits until it ends. It has one
// file, "f". Whatever becomes of the test, it ends after 40 s.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

class FuseOfUser {
 public:
  enum class Held {
    kReadOfEvent,      // a read of an event of `task` into a page of the file: the event's context
    kExecve,           // of process(), for a page to be written: what guards its rights
    kAttributes,       // of the file, which an overlayfs of that user's shows
    kFileSystemFacts,  // of one that everybody may use, which root has mounted
    kFolder,           // `folder` is read into a page of the file: its lock, for a name in it
  };
  explicit FuseOfUser(Held held, pid_t task = 0, std::string folder = "");
  FuseOfUser(const FuseOfUser&) = delete;
  FuseOfUser& operator=(const FuseOfUser&) = delete;
  ~FuseOfUser();

  // Empty, or why there is none here.
  [[nodiscard]] std::string missing() const { return shared_->missing; }
  [[nodiscard]] pid_t process() const { return holder_; }
  // As other processes find the file.
  [[nodiscard]] std::string path() const;
  // From now on no answer is given; of kReadOfEvent, kExecve and kFolder it never is.
  void arm() { shared_->armed = true; }
  [[nodiscard]] bool holds_somebody() const { return shared_->held; }

 private:
  struct Shared {
    std::atomic<bool> armed, held, ready;
    std::atomic<pid_t> server;
    char missing[128];
  };
  void hold(pid_t task);
  void enter_namespaces();
  void serve(int fuse);
  void answer(int fuse, const char* request);
  void give_up(const char* what);

  void read_folder(int folder, void* memory) const;

  Held held_;
  std::string folder_, locked_;
  Shared* shared_;
  pid_t holder_ = 0;
};

// A process of nobody's, or of one's own: it may be looked into, and does nothing.
pid_t start_idle_process();
class IdleProcess {
 public:
  IdleProcess() = default;
  IdleProcess(const IdleProcess&) = delete;
  IdleProcess& operator=(const IdleProcess&) = delete;
  ~IdleProcess();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = start_idle_process();
};
void become_nobody();
