// What is known of the BLAS of a machine or of a program, and what the judge says of it: plain
// structs with the unit in each name. The evidence on a program's BLAS is kept level by level and
// never merged, since each level lies in its own way: a library may be loaded and never called,
// called and hand its work on, selected for one CPU and slower than another.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/report/flame/stacks.h"

namespace hwprof::report {

struct LadderRung {
  std::string core;      // core type that ran, by the library's own word; "" when it has none
  std::string setting;   // how it got there: "as found", "auto", "OPENBLAS_CORETYPE=Haswell"; the
                         // last two without any other variable that shapes a BLAS
  std::string library;   // path
  std::string provider;  // "openblas", ...
  std::optional<double> gflops;         // absent: reason says why
  std::optional<double> peak_fraction;  // sgemm / FMA peak in interleaved slices of the same child
  std::string vector_class;  // "scalar", "sse", "avx", "avx2", "avx512", "neon", "sve", ""
  bool as_found = false;     // what a program gets here, environment included
  std::string reason;
};

// verdict: optimal, suboptimal, unoptimised, not-called, other-library, inconclusive.
struct Blas {
  std::optional<std::string> provider;  // "openblas", "blis", "mkl", "atlas", "reference", ...
  std::string version, path, requested, core, threading;
  std::optional<int> threads;
  std::map<std::string, std::string> environment;  // only variables that shape a BLAS
  std::vector<LadderRung> ladder;                  // fastest first
  std::string ladder_note;                         // how it was measured, or why there is none
  std::string verdict = "inconclusive";
  std::optional<double> factor;  // best rung / as found: how many times faster it could be
  std::string why, fix;
};

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

}  // namespace hwprof::report
