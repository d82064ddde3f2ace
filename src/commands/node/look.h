// One look at the running processes of the machine, and what the judge says of each.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/base/result.h"
#include "src/blas/judge/judge_loaded.h"
#include "src/model/node_record.h"

namespace hwprof {

class NodeLook {
 public:
  // Of that user's alone; else of all that may be read: root all, others their own.
  NodeLook(Machine machine, std::optional<uid_t> user, std::string user_name);

  // CPU time is that since the last look, of what was there then; else since the process began.
  Result<report::Node> look();

 private:
  struct Seen {
    std::uint64_t start_ticks = 0;
    double cpu_s = 0, at_s = 0;  // after boot
  };
  Machine machine_;
  std::optional<uid_t> user_;
  std::string user_name_;
  std::map<pid_t, Seen> seen_;
};

// Fills verdict, why and fix of each process and library.
void judge_node(const blas::LoadedContext& context, report::Node& node);

}  // namespace hwprof
