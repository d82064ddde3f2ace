// The worker's end: asks the hand and the monitor for what it may not do itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/observe/monitor/channel.h"
#include "src/observe/monitor/protocol.h"

namespace hwprof::observe {

struct CommandEnd {
  CommandEnded facts;
  std::vector<LeftProcess> left;  // processes that it started and that go on
};

class MonitorClient {
 public:
  // From now on this process opens events, files of others and probes through the hand. There is
  // one in a process. A hand that has let it wait once for longer than `patience` is not asked
  // again.
  MonitorClient(Channel questions, Channel events, Channel hand,
                std::chrono::milliseconds patience);
  MonitorClient(const MonitorClient&) = delete;
  MonitorClient& operator=(const MonitorClient&) = delete;
  ~MonitorClient();

  // The command, held before its execve, with these variables (NAME=value) added.
  Result<pid_t> start(const std::vector<std::string>& environment);
  // The same for a run whose output is nobody's to see; NAME alone: it gets no such variable.
  // Whoever asks must read `output` until the command has ended, or that waits.
  struct Quiet {
    pid_t pid = 0;
    UniqueFd output;
  };
  Result<Quiet> start_quietly(const std::vector<std::string>& environment);
  Result<void> release();
  [[nodiscard]] int end_descriptor() const { return events_.descriptor(); }  // readable at its end
  Result<CommandEnd> wait();
  // The signal that asked for the end of hwprof, and not only of one command; 0: none came.
  int end_wanted();

  // What is written at the end, whatever becomes of this process; each call replaces the last.
  Result<void> save_report(const std::string& bytes);
  // One of the files that the command line names.
  Result<void> save_file(const std::string& path, const std::string& bytes);
  void finish(const Result<int>& exit_code);

  struct Reply {
    Answer head;
    std::string text;
    UniqueFd fd;
  };
  Result<Reply> ask(const Question& question, std::string_view text = {}, int fd = -1);

 private:
  Result<void> send_parts(std::string_view bytes);
  [[nodiscard]] bool hand_answers() const;

  Channel questions_, events_, hand_;
  std::chrono::milliseconds patience_;
  bool hand_is_silent_ = false;
};

}  // namespace hwprof::observe
