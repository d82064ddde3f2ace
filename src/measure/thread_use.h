// The use of threads, out of the samples of a program and what /proc told of its threads: shares,
// states, pools, and the sentences on them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "src/model/thread_use.h"
#include "src/observe/samples/sampling.h"
#include "src/observe/threads/thread_watch.h"

namespace hwprof {

struct ThreadInput {
  const observe::SampleProfile& samples;
  std::string no_samples;  // why there are none; "": there are
  const observe::ThreadFacts& facts;
  std::optional<double> cpu_ns;  // of the program, all of it
  std::size_t online = 0;        // CPUs of the machine
};
report::ThreadUse thread_use(const ThreadInput& input);

// "OpenBLAS", "libgomp", ...: whose code a file is; else the file's name.
std::string pool_name(const std::string& path);

}  // namespace hwprof
