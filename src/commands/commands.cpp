#include "src/commands/commands.h"

namespace hwprof {
namespace {

constexpr cli::Command kCommands[] = {
    {"profile", "Profile a workload, a text CNN unless told, and judge the BLAS under it.",
     profile_command},
    {"blas", "Judge the BLAS that programs get here, and rank those that are installed.",
     blas_command, true},
    {"run", "Run any program, count what it does, and prove which BLAS it uses.", run_command,
     true},
    {"attach", "The same for a process that already runs.", attach_command},
    {"node", "Judge the BLAS of each process that runs here, without stopping any.", node_command},
    {"compare", "Say which rows of a report are slower than in another one.", compare_command,
     true},
    {"check", "Check a host's BLAS, for monitors and schedulers: one record, one line.",
     check_command, true},
    {"fleet", "Merge the records of check from many hosts, against the list of hosts.",
     fleet_command},
    {"sweep", "Measure an operation over sizes: does its time grow as analysed?", sweep_command},
    {"report", "Show saved JSON reports again, or make one HTML page of them.", report_command},
    {"events", "List what can be counted here, or explain events for any CPU.", events_command},
    {"doctor", "Say what stands between this machine and good numbers.", doctor_command},
    {"workloads", "List what can be profiled, or write a network out to start from.",
     workloads_command},
    {"peak", "Measure the FMA peak and the bandwidth of each memory level.", peak_command},
};

}  // namespace

std::span<const cli::Command> commands() { return kCommands; }

}  // namespace hwprof
