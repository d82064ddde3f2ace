// The use of threads, out of the samples of a program and what /proc told of its threads: shares,
// states, pools, and the sentences on them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/measure/thread_sentences.h"
#include "src/model/blas.h"
#include "src/model/thread_use.h"
#include "src/observe/routines/timed_call.h"
#include "src/observe/samples/sampling.h"
#include "src/observe/threads/thread_watch.h"

namespace hwprof {

struct ThreadInput {
  const observe::SampleProfile& samples;
  std::string no_samples;  // why there are none; "": there are
  const observe::ThreadFacts& facts;
  std::optional<double> cpu_ns;  // of the program, all of it
  std::size_t online = 0;        // CPUs of the machine
  std::optional<CallSizes> blas_calls = {};
  std::vector<observe::CallingThread> callers = {};
};
report::ThreadUse thread_use(const ThreadInput& input);

// Of those calls that OpenBLAS served and whose time is known; absent: there are none.
std::optional<CallSizes> openblas_calls(const std::vector<report::CallSite>& calls);

// "OpenBLAS", "libgomp", ...: whose code a file is; else the file's name.
std::string pool_name(const std::string& path);

}  // namespace hwprof
