// All that a counted region needs, mapped apart from the program's heap.
#pragma once

#include <utility>

#include "src/exact/session.h"

namespace hwprof::exact {

class SessionMemory {
 public:
  SessionMemory();
  SessionMemory(SessionMemory&& other) noexcept
      : session_(std::exchange(other.session_, nullptr)),
        stack_(std::exchange(other.stack_, nullptr)),
        notes_(std::exchange(other.notes_, nullptr)),
        state_(std::exchange(other.state_, nullptr)) {}
  SessionMemory& operator=(SessionMemory&&) = delete;
  ~SessionMemory();

  [[nodiscard]] bool complete() const {
    return session_ != nullptr && stack_ != nullptr && notes_ != nullptr && state_ != nullptr;
  }
  // Only if it is complete. Stays where it is when the memory is moved.
  [[nodiscard]] Session& session() const { return *static_cast<Session*>(session_); }

 private:
  void *session_, *stack_, *notes_, *state_;
};

}  // namespace hwprof::exact
