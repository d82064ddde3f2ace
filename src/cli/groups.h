// Options that several commands have: one name, meaning and place in the help each.
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/cli/options.h"
#include "src/model/regions_record.h"
#include "src/report/render/write_report.h"

namespace hwprof::cli {

// Titles, in the order in which each command's help has them.
inline constexpr const char* kWork = "What is measured";
inline constexpr const char* kMachine = "Where it runs";
inline constexpr const char* kBudget = "How it is measured";
inline constexpr const char* kRegions = "The table of regions";
inline constexpr const char* kReport = "The report";
inline constexpr const char* kGeneral = "General";

inline constexpr std::uint64_t kMaxThreads = 8192;  // CONFIG_NR_CPUS is at most that
inline constexpr double kMaxSeconds = 1e6;

// --pin; `help` says what the CPUs are for.
Option pin(Options& options, CpuList& to,
           const std::string& help =
               "Run on these CPUs only, as in 0 or 0,2-3. Default: wherever "
               "the kernel puts it.");
// What --events is where it is not given: of a program all of them; of the kernels, whose rows say
// by themselves how often they moved, those without the last.
inline constexpr std::string_view kProgramEvents[] = {
    "cycles",     "instructions",     "flops",       "llc-miss",
    "task-clock", "context-switches", "page-faults", "migrations"};
inline constexpr auto kKernelEvents =
    std::span(kProgramEvents).first<std::size(kProgramEvents) - 1>();
// --events
Option events(Options& options, std::vector<std::string>& to,
              std::span<const std::string_view> defaults);
// What shells offer for it: portable names, then those of libpfm4 for this machine.
std::vector<Candidate> event_candidates();
// Of names that need no word of help.
template <class Names>
Candidates offer(const Names& names) {
  std::vector<Candidate> all;
  for (const auto& name : names) all.push_back({std::string(name), ""});
  return [all] { return all; };
}
// --no-ladder
Option no_ladder(Options& options, bool& ladder);
// --group-by, --sort, --top, --depth
void region_view(Options& options, report::RegionView& to);
// --trace
Option trace(Options& options, std::string& to);
// --flame
Option flame(Options& options, std::string& to);
// --require; each name of `checks` sets its bool.
struct Requirement {
  std::string_view name;
  bool* wanted;
};
Option require(Options& options, std::vector<Requirement> checks, const std::string& help);
// --format, --json, -o, --full: with the formats that the command has, the first of them the
// default. `nowhere`: where the report goes without -o.
void output(Options& options, Output& to, std::vector<Format> formats,
            std::string_view nowhere = "standard output");

}  // namespace hwprof::cli
