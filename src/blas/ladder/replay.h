// Which of a program's calls are made again on the rungs, so that the factor is about this program:
// the routines, types and shapes that make up its work. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/observe/routines/call_shape.h"

namespace hwprof::blas {

struct ReplayCall {
  std::string symbol;  // that the program called
  observe::Shape shape;
  double weight = 0;  // calls; of a part of a large one, more
};

struct Replay {
  std::vector<ReplayCall> calls;  // most work first; empty: `note` says why
  double covered = 0;             // of the work in all calls of a BLAS
  std::string note;
};

// One shape of a site's calls, of which a part is made where the whole takes more FLOP. Absent
// where it cannot be made again, or not small enough.
std::optional<ReplayCall> replayable(const report::CallSite& site, const report::CallShape& shape,
                                     double most_flops);

// By time, where that of every call is known; else by FLOP, of which those of vectors count
// tenfold, since they wait for memory.
Replay plan_replay(const report::Called& called);

// Of an argument of a child: "sgemm_:2:3:4:0:100;...". Absent where the text is no such list.
std::string replay_text(const std::vector<ReplayCall>& calls);
std::optional<std::vector<ReplayCall>> parse_replay(const std::string& text);

// The arguments of an operation, as the table of routines has them
// (observe/routines/blas_routine.h);
// "" for one that cannot be made again.
std::string_view replay_arguments(std::string_view operation);

// A routine by the parts of its name.
struct RoutineName {
  bool c_interface = false;
  char type = 's';
  std::string operation;  // "gemm"
  std::string plain;      // "sgemm_", "cblas_sgemm": without prefix and width
};
std::optional<RoutineName> parse_routine_name(std::string_view symbol);

}  // namespace hwprof::blas
