// hwprof's side of libhwprof-exact: tells a command of it by its environment, and reads what it has
// left. The audit library chooses the calls (src/observe/audit/exact_call.h).
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/exact_call.h"
#include "src/observe/proc/private_folder.h"

namespace hwprof::blas {

class ExactCalls {
 public:
  static Result<ExactCalls> prepare();
  // LD_PRELOAD, added to what is in there already, the folder for the counts, and one_thread().
  [[nodiscard]] std::vector<std::string> environment() const;
  // The numbers of threads of a BLAS, where the user has not said them: only what one thread does
  // can be counted.
  static std::vector<std::string> one_thread();
  // Once all that could count has ended; by the number of the call. What cannot be read is a call
  // without a count.
  [[nodiscard]] std::vector<model::ExactCall> read() const;

 private:
  ExactCalls(std::string library, PrivateFolder folder)
      : library_(std::move(library)), folder_(std::move(folder)) {}

  std::string library_;
  PrivateFolder folder_;
};

// What their names begin with, of the variables above that no other part of hwprof sets.
std::vector<std::string> exact_variables();

// Of one file of libhwprof-exact's, which may hold anything.
Result<model::ExactCall> parse_exact_call(const std::string& bytes);

}  // namespace hwprof::blas
