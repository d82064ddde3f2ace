// What `hwprof run`, `attach` and `blas -- COMMAND` found out about a program: plain structs with
// the unit in each name. The evidence on its BLAS is kept level by level and never merged, since
// each level lies in its own way: a library may be loaded and never called, called and hand its
// work on, selected for one CPU and slower than another.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/machine.h"
#include "counters/perf/reading.h"
#include "src/model/record.h"
#include "src/report/flame/stacks.h"
#include "src/report/repeats.h"

namespace hwprof::report {

// E0, before anything ran.
struct Declared {
  std::map<std::string, std::string> environment;  // only variables that shape a BLAS
  std::string default_library;  // file that the loader gives for libblas.so.3; "" when it has none
  std::string default_provider;
  std::vector<std::string> needed;  // BLAS sonames that the command's own file names
};

// E1: a file that was mapped in any process of the tree and matters to the verdict.
struct LoadedLibrary {
  std::string path, soname, build_id;
  std::string provider;  // "openblas", "blis", "mkl", "onednn", ..., "unknown" for a nameless BLAS
  bool serves_blas = false;  // has an sgemm_ of its own
};

// E2: what a library in the live process had chosen.
struct SelectedCore {
  std::string provider, path;
  std::string version;       // "" when the library does not say
  std::string core;          // "Haswell"; "" when it has none or does not say
  std::string vector_class;  // of that core, as LadderRung has it
  std::optional<int> threads;
  std::string how;     // "gotoblas pointer of process 4711"
  std::string reason;  // why there is no core
};

struct CallShape {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t count = 0;
};

// E3: calls of one symbol from one library into another.
struct CallSite {
  std::string symbol;   // "sgemm_"
  std::string library;  // file that served it
  std::string caller;   // file that called; "" unknown
  std::uint64_t count = 0;
  std::optional<double> time_ns;            // inside the calls, all threads added up
  std::optional<double> flops;              // 2 m n k over all calls, by their shapes
  std::vector<CallShape> shapes;            // most FLOP first
  std::uint64_t calls_of_other_shapes = 0;  // those that found no room in `shapes`
};

struct Called {
  std::string how = "none";           // "uprobe", "audit", "none"
  std::vector<CallSite> calls;        // outermost calls only; most FLOP first
  std::uint64_t lost = 0;             // records that the kernel dropped: counts are then too low
  std::vector<std::string> blind_to;  // what this way of watching cannot see, a sentence each
  std::string reason;                 // why `how` is none, or not the best one
};

struct SampleShare {
  std::string name;
  std::string library;  // of a symbol: the file; else ""
  std::uint64_t samples = 0;
  double fraction = 0;  // of all samples
};

// What the loops of one file compute with: of a program's many files, those that do arithmetic.
struct LibraryLoops {
  std::string library;   // path, or "[generated code]"
  std::string provider;  // "openblas", "onednn", ...; "" unknown
  std::string symbol;    // hottest
  std::string width;     // of most of its samples in loops: "512", "256", "128", "scalar"
  bool fma = false;      // those loops multiply and add in one instruction
  std::uint64_t samples = 0;
  double fraction = 0;  // of all samples: all of the file's
  int threads = 0;      // distinct threads seen in those loops
};

// E4: where the CPU time went. Each list is most samples first and adds up to 1.
struct Executed {
  std::uint64_t samples = 0, lost = 0;
  double frequency_hz = 0;
  std::vector<SampleShare> by_library, by_symbol;
  // Of the enclosing loops: "512", "256", "128", "scalar"; "no-loop", "unclassified".
  std::vector<SampleShare> vector_width;
  std::vector<LibraryLoops> loops;  // most samples first
  // Only where they were asked for. Stacks are for flame graphs and in no report.
  std::vector<HotLine> lines;
  std::vector<FoldedStack> stacks;
  std::vector<std::string> notes;  // how sure it is
  std::string reason;              // why there is nothing

  // Distinct threads in the loops of the hottest file.
  [[nodiscard]] std::optional<int> threads() const {
    return loops.empty() ? std::nullopt : std::optional(loops.front().threads);
  }
};

// E5
struct Performing {
  std::optional<double> gflops;         // FLOP of E3 / time of E3
  std::optional<double> peak_fraction;  // of the peak measured on one core x threads of E4
  std::string how;
  std::string reason;
};

struct BlasEvidence {
  Declared declared;
  std::vector<LoadedLibrary> loaded;
  std::vector<SelectedCore> selected;
  Called called;
  Executed executed;
  Performing performing;
};

// verdict: optimal, suboptimal, unoptimised, not-called, other-library, inconclusive.
struct RunBlas {
  std::string verdict = "inconclusive";
  std::optional<std::string> provider;
  std::string version, path, core;
  std::optional<int> threads;
  std::optional<double> factor;  // how many times faster this machine could do the same product
  std::string why, fix;
  std::vector<std::string> findings;  // one sentence each, most important first
  BlasEvidence evidence;
  std::vector<LadderRung> ladder;  // measured after the command had ended
  std::string ladder_note;
};

struct Run {
  std::string version;
  std::vector<std::string> command;  // attach: what /proc says of the process
  std::optional<std::int64_t> attached_pid;
  std::string started_utc;
  int exit = 0;         // as a shell would say it: 128 + n for signal n
  std::string not_run;  // why the command could not be started: exit is 126 or 127, the rest empty
  bool detached = false;  // attach: the process went on
  double wall_s = 0;
  std::optional<double> user_s, system_s;
  std::optional<std::uint64_t> peak_rss_bytes;  // of the largest process of the tree
  std::string peak_rss_reason;                  // why it is absent
  std::optional<double> cpus_used;              // (user + system) / wall
  CpuList pinned;                               // empty: --pin was not given
  Machine machine;
  std::vector<EventCount> counters;  // over the whole process tree; calls is 1
  RunBlas blas;
  // With --repeat: all else here but `exit`, the last run's, is of a run of its own before them.
  std::optional<Repeats> repeats;
  std::optional<Regions> regions;  // that the program made through libhwprof
  std::vector<Warning> warnings;
};

}  // namespace hwprof::report
