// The commands of hwprof: each declares its options and says what runs once they are read. A
// command's file has its options, its steps and its entry; the table is in commands.cpp.
//
// commands: uses everything below; nothing but main.cpp and the tests includes it.
#pragma once

#include <span>

#include "src/cli/options.h"

namespace hwprof {

// The first is the default.
std::span<const cli::Command> commands();

// `hwprof profile`: a workload's kernels beside the machine's ceilings, and the BLAS under them.
cli::Action profile_command(cli::Options& options);
// `hwprof blas`: which BLAS programs get on this machine, how good it is, and what else there is.
cli::Action blas_command(cli::Options& options);
// `hwprof run -- COMMAND`: any program, unchanged, and the proof of which BLAS it used.
cli::Action run_command(cli::Options& options);
// `hwprof attach PID`: the same for a process that already runs.
cli::Action attach_command(cli::Options& options);
// `hwprof node`: which BLAS each process that runs here has loaded.
cli::Action node_command(cli::Options& options);
// `hwprof compare`: is the same work slower than it was?
cli::Action compare_command(cli::Options& options);
// `hwprof check`: a host's BLAS as a record for a fleet, and one line; or that of one command.
cli::Action check_command(cli::Options& options);
// `hwprof fleet merge`: the records of many hosts against the list of those that there are.
cli::Action fleet_command(cli::Options& options);
// `hwprof report`: saved reports again, as text or as one HTML page.
cli::Action report_command(cli::Options& options);
// `hwprof sweep`: one operation over sizes, and whether its time grows as the analysis says.
cli::Action sweep_command(cli::Options& options);
// `hwprof events`: what this machine can count, and why not the rest; or what a name becomes on
// another CPU.
cli::Action events_command(cli::Options& options);
// `hwprof doctor`: what stands between this machine and good numbers, and what fixes it.
cli::Action doctor_command(cli::Options& options);
// `hwprof workloads`: what can be profiled, and a network of layers as a file.
cli::Action workloads_command(cli::Options& options);
// `hwprof peak`: what these CPUs can do at most.
cli::Action peak_command(cli::Options& options);

}  // namespace hwprof
