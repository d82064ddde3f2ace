// One look at the running processes of the machine, and what the judge says of each.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/blas/evidence/process_readers.h"
#include "src/blas/judge/judge_loaded.h"
#include "src/model/node_record.h"
#include "src/observe/proc/process_list.h"

namespace hwprof {

class NodeLook {
 public:
  // Of that user's alone; else of all that may be read: root all, others their own.
  NodeLook(Machine machine, std::optional<uid_t> user, std::string user_name);

  // CPU time is that since the last look, of what was there then; else since the process began.
  Result<report::Node> look();

  // What the next look needs of this one, for where that is another process's (watch.h): numbers.
  [[nodiscard]] std::string known() const;
  void take_known(std::string_view bytes);

 private:
  struct Seen {
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;
    double cpu_s = 0, at_s = 0;  // after boot
  };
  // Its process is passed over meanwhile.
  struct Left : blas::LeftReader {
    std::shared_ptr<UniqueFd> ended;  // readable then
  };
  void forget_ended();
  void add_left(const blas::LeftReader& left);
  Result<std::vector<ListedProcess>> list(report::Node& node);
  void add_process(const ListedProcess& listed, blas::ReadProcess read, double now_s,
                   report::Node& node);

  Machine machine_;
  std::optional<uid_t> user_;
  std::string user_name_;
  std::map<pid_t, Seen> seen_, seen_before_;
  std::map<uid_t, std::string> names_;
  std::vector<Left> left_;
};

// Fills verdict, why and fix of each process and library.
void judge_node(const blas::LoadedContext& context, report::Node& node);

}  // namespace hwprof
