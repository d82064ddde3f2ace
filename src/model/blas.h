// What is known of the BLAS of a machine or of a program, and what the judge says of it: plain
// structs with the unit in each name. The evidence on a program's BLAS is kept level by level and
// never merged, since each level lies in its own way: a library may be loaded and never called,
// called and hand its work on, selected for one CPU and slower than another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/call_numbers.h"
#include "src/model/fields.h"
#include "src/model/prepared_call.h"
#include "src/model/stacks.h"

namespace hwprof::report {

// Who made a library that computes products: those that code names. All others, and everything
// that is known of each, are rows of the table in src/blas/providers/providers.cpp.
enum class Provider : std::uint8_t {
  kNone,     // there is no library
  kUnknown,  // a BLAS that nothing gives away
  kReference,
  kMkl,
  kOpenBlas,
  kBlis,
  kAtlas,
  kOneDnn,  // no BLAS, but takes work away from one
  kEigen,   // the same; its products are templates inside of programs
};
const std::string_view& name_of(const Provider& provider);  // "openblas"; "" for kNone
inline std::string_view to_text(Provider provider) { return name_of(provider); }
Provider provider_named(std::string_view name);  // kUnknown for what the table does not have
inline bool is_known(Provider provider) { return provider != Provider::kNone; }

// Vectors on which kernels compute. SVE ranks with Neon, since its length is the CPU's secret and
// 128 bits is the most common one.
enum class VectorClass : std::uint8_t { kNone, kScalar, kSse, kNeon, kSve, kAvx, kAvx2, kAvx512 };

struct VectorClassFacts {
  int rank;                // orders classes; -1: not known
  const char* width;       // of its kernels, in sentences
  const char* arithmetic;  // the same with what they execute
};
inline constexpr VectorClassFacts kVectorClasses[] = {
    // by VectorClass
    {-1, "", ""},
    {0, "scalar", "scalar code"},
    {1, "128-bit", "128-bit without FMA"},
    {1, "128-bit", "128-bit FMA"},
    {1, "SVE", "SVE"},
    {2, "256-bit without FMA", "256-bit without FMA"},
    {3, "256-bit", "256-bit FMA"},
    {4, "512-bit", "512-bit FMA"},
};
constexpr const VectorClassFacts& facts(VectorClass vectors) {
  return kVectorClasses[static_cast<std::size_t>(vectors)];
}
std::string_view to_text(VectorClass vectors);

enum class VerdictKind : std::uint8_t {
  kOptimal,
  kBorderline,
  kSuboptimal,
  kUnoptimised,
  kOverheadBound,
  kWrongResults,
  kNotCalled,
  kOtherLibrary,
  kMissing,
  kInconclusive,
};
std::string_view to_text(VerdictKind verdict);

// One library, by what it says of itself.
struct Blas {
  Provider provider = Provider::kNone;
  std::string path;
  std::string version;    // "" when the library does not say
  std::string core;       // core type that it chose, "Haswell"; "" when it has none or does not say
  std::string threading;  // "pthreads", "openmp", "single-threaded", "" unknown
  VectorClass vector_class = VectorClass::kNone;  // of that core
  std::optional<int> threads;
  std::string behind;  // of a wrapper: what does the work, "openblas 0.3.21 Haswell of /usr/..."
};

// What the judge says of it. (Bases of a record are never two: fields.h finds members by address.)
struct Verdict : Blas {
  VerdictKind verdict = VerdictKind::kInconclusive;
  // Best rung / as found, in what was measured: how many times faster it could be, with its 95 %
  // interval.
  std::optional<double> factor, factor_low, factor_high;
  std::string why, fix;  // `fix` is empty when nothing is to be changed
};

// Whether a library computes what it should.
struct Results {
  std::optional<bool> right;  // absent: not checked
  std::string wrong;          // the first product that is not, "sgemm of 17 x 16 x 16, ..."
  std::string bits;           // of all products of one thread: equal where the bits are
};

struct LadderRung {
  std::string core;     // core type that ran, by the library's own word; "" when it has none
  std::string setting;  // how it got there: "as found", "auto", "OPENBLAS_CORETYPE=Haswell"; the
                        // last two without any other variable that shapes a BLAS
  std::string library;  // path
  Provider provider = Provider::kNone;
  std::string version;           // "" when the library does not say
  std::optional<double> gflops;  // absent: reason says why
  // sgemm / FMA peak in interleaved slices of the same child, each over the thread's CPU time; the
  // 95 % interval needs several children.
  std::optional<double> peak_fraction, peak_fraction_low, peak_fraction_high;
  // The same of a program's own calls, each as often as the program made it.
  std::optional<double> calls_fraction, calls_fraction_low, calls_fraction_high;
  VectorClass vector_class = VectorClass::kNone;
  bool as_found = false;  // what a program gets here, environment included
  bool own = false;       // hwprof's own OpenBLAS: no program gets it, it is not installed
  std::string behind;     // of a wrapper: what does the work
  Results results;
  std::string reason;
};

// What a factor was measured with.
enum class FactorOf : std::uint8_t {
  kSgemm,  // a square product, whatever the program does
  kCalls,  // the program's own, made again
};

// A library with the verdict on it, and what the verdict rests on.
struct JudgedBlas : Verdict {
  Results results;                 // of the rung that is as found
  std::vector<LadderRung> ladder;  // highest share of the FMA peak first
  std::string ladder_note;         // how it was measured, or why there is none
  std::optional<LadderRung> own;   // of the ladder: the fastest one of hwprof's own OpenBLAS
  std::string own_reason;          // why there is none
};

// That which `hwprof profile` loaded.
struct ProfileBlas : JudgedBlas {
  std::string requested;                           // --blas; "": what programs get
  std::map<std::string, std::string> environment;  // only variables that shape a BLAS
};

// One that this machine could give to a program.
struct InstalledBlas : Blas {
  std::string how;        // it was found: "loader cache libopenblas.so.0", "given"
  std::string select;     // command that makes it what programs get; "" when there is none
  bool selected = false;  // that has been done: only a variable gives programs another
  bool threaded = false;  // known of OpenBLAS only: it has or takes threaded products
};

// The same, measured on one thread; sgemm and dgemm of the same size.
struct SurveyedBlas : InstalledBlas {
  bool is_default = false;  // what a program gets that asks for libblas.so.3
  int size = 0;
  std::optional<double> sgemm_gflops, sgemm_peak_fraction;
  std::optional<double> dgemm_gflops, dgemm_peak_fraction;
  std::string reason;  // why they are absent
};

// E0, before anything ran.
struct Declared {
  std::map<std::string, std::string> environment;  // only variables that shape a BLAS
  std::string environment_reason;                  // why it is not known: of another user's process
  std::string default_library;  // file that the loader gives for libblas.so.3; "" when it has none
  Provider default_provider = Provider::kNone;
  std::vector<std::string> needed;  // BLAS sonames that the command's own file names
};

// E1: a file that was mapped in any process of the tree and matters to the verdict.
struct LoadedLibrary {
  std::string path, soname, build_id;
  Provider provider = Provider::kNone;
  bool serves_blas = false;  // has an sgemm_ of its own, or served a call
  bool elsewhere = false;    // in another mount namespace: its path is no file here, or another
};

// E2: what a library in the live process had chosen.
struct ChosenCore : Blas {
  std::string how;     // "gotoblas pointer of process 4711"
  std::string reason;  // why there is no core
};

// The result is m x n, each of its elements the sum of k products.
struct CallShape {
  std::uint64_t m = 0, n = 0, k = 0;
  bool row_major = false;     // else columns are contiguous
  bool right = false;         // where the symmetric or triangular matrix stands
  bool transposed_a = false;  // or its conjugate
  bool transposed_b = false;
  std::uint64_t count = 0;
  std::optional<double> time_ns = {};  // inside those calls, all threads added up
  CallNumbers numbers = {};
};
std::string form_of(const CallShape& shape);  // "A^T, row-major"; "" where nothing is to be said

// E3: calls of one symbol from one library into another.
struct CallSite {
  std::string symbol;   // "sgemm_"
  std::string library;  // file that served it
  std::string caller;   // file that called; "" unknown
  std::uint64_t count = 0;
  std::optional<double> time_ns;            // inside the calls, all threads added up
  std::optional<double> flops;              // over all calls, by their shapes
  std::optional<double> time_share;         // of the time inside all calls that were timed
  std::string time_share_reason;            // why it is absent
  std::optional<double> cores;              // CPU time in them over time_ns; absent: not known
  std::optional<double> peak_fraction;      // of the peak of its precision
  std::string peak_fraction_reason;         // why it is absent
  std::vector<CallShape> shapes;            // most FLOP first
  std::uint64_t calls_of_other_shapes = 0;  // those that found no room in `shapes`
  CallNumbers numbers;
  // Where calls met denormal numbers and do not tell what that cost.
  std::optional<DenormalReplay> denormal_replay;
  bool nan_first = false;  // the first operand with NaN, of those sampled, was one of these
};

std::optional<double> gflops_of(const CallSite& site);

// Why a stub of LD_AUDIT did not see a call that a uprobe saw.
enum class MissedBecause : std::uint8_t { kOwnCall, kNoFile, kBinding };

// Calls of one routine that uprobes alone saw.
struct MissedCalls {
  std::string symbol, caller, library;
  MissedBecause because = MissedBecause::kBinding;
  std::uint64_t by_uprobes = 0;  // of this caller
  std::uint64_t by_audit = 0;    // of the same routine of the library, by others
};

// With --calls-by both.
struct ComparedCalls {
  std::uint64_t by_both = 0;  // that a stub passed on to a routine with a probe
  std::uint64_t within = 0;   // in a library, taken for part of the calls into it
  std::uint64_t missed = 0;
  std::uint64_t lost = 0;  // records of the probes: more may be missed
  std::vector<MissedCalls> missed_calls;
};

struct Called {
  std::string how = "none";      // "uprobe", "audit", "none"
  std::vector<CallSite> calls;   // outermost calls only; most FLOP first
  std::vector<CallSite> lapack;  // by "audit" alone; calls of a BLAS lie within them
  // Of oneDNN and of FFTW, by "audit" alone; longest time first.
  std::vector<PreparedCall> primitives, transforms;
  std::optional<double> wall_ns;   // with at least one thread inside those that have a time
  std::uint64_t lost = 0;          // records that the kernel dropped: counts are then too low
  std::optional<double> added_ns;  // CPU time that watching has cost the program, estimated
  // Programs that ran, one an execve and one a process that ran before; those of which every call
  // could be seen. Absent: not known.
  std::optional<std::uint64_t> executions, executions_watched;
  // Of those not watched whole: they went on after the command's end. Absent: not known.
  std::optional<std::uint64_t> executions_going_on;
  // By "audit" alone, where no work of a BLAS was seen: files whose own code may have called
  // routines of a BLAS in them, which no loader binds.
  std::vector<std::string> own_routines;
  std::optional<ComparedCalls> compared = {};
  std::set<std::string> elsewhere;       // of the libraries; as LoadedLibrary has it
  std::vector<TraceSpan> spans;          // the longest outermost calls, in the order of time
  std::optional<double> spans_begin_ns;  // CLOCK_MONOTONIC when the first of them began
  std::string spans_note;                // which are left out
  std::string lines_reason;              // why some of them have no line of Python
  std::vector<std::string> blind_to;     // what this way of watching cannot see, a sentence each
  std::string numbers_reason;            // why CallNumbers, or its flags, are not known
  std::string reason;                    // why `how` is none, or not the best one

  // So that where no call was seen there was none.
  [[nodiscard]] bool covers_all() const {
    return how != "none" && lost == 0 && executions && executions == executions_watched;
  }
};

struct SampleShare {
  std::string name;
  std::string library;  // of a symbol: the file; else ""
  std::uint64_t samples = 0;
  double fraction = 0;  // of all samples
};

// What the loops of one file compute with: of a program's many files, those that do arithmetic.
struct LibraryLoops {
  std::string library;  // path, or "[generated code]"
  Provider provider = Provider::kNone;
  std::string symbol;          // hottest
  double symbol_fraction = 0;  // of all samples: that symbol's in loops of this width
  std::string width;           // of most of its samples in loops: "512", "256", "128", "scalar"
  bool fma = false;            // those loops multiply and add in one instruction
  std::uint64_t samples = 0;
  double fraction = 0;  // of all samples: all of the file's
  int threads = 0;      // distinct threads seen in those loops
  double at_once = 0;   // of them, on average; 0: not known
};

// Fewer threads at once than there were.
inline bool take_turns(const LibraryLoops& loops) {
  return loops.at_once > 0 && loops.at_once + 0.5 < loops.threads;
}

// E4: where the CPU time went. Each list is most samples first and adds up to 1.
struct Executed {
  std::uint64_t samples = 0, lost = 0;
  double frequency_hz = 0;
  std::vector<SampleShare> by_library, by_symbol;
  // Of the enclosing loops: "512", "256", "128", "scalar"; "no-loop", "unclassified".
  std::vector<SampleShare> vector_width;
  std::vector<LibraryLoops> loops;   // most samples first
  std::vector<SampleShare> waiting;  // of by_symbol: where threads wait for others
  // Of files: in loops that multiply and add, where no symbol names the function and the file takes
  // no BLAS from another: it may hold one.
  std::vector<SampleShare> unnamed_products;
  // Only where they were asked for.
  std::vector<HotLine> lines;
  std::vector<FoldedStack> stacks;
  PlacedStacks placed;  // the same, with --pprof; in no JSON
  // Of the stacks: those that reach main, or where their thread started.
  std::optional<double> whole_stacks;
  std::vector<std::string> notes;  // how sure it is
  std::string reason;              // why there is nothing

  // Distinct threads in the loops of the hottest file.
  [[nodiscard]] std::optional<int> threads() const {
    return loops.empty() ? std::nullopt : std::optional(loops.front().threads);
  }
};

// E5
struct AchievedRate {
  std::optional<double> gflops;            // FLOP of E3 / wall time inside the calls
  std::optional<double> cores;             // that worked at once, on average: CPU time / that time
  std::optional<double> peak_fraction;     // of the peak measured on one core x cores
  std::optional<double> core_peak_gflops;  // float32 FMA of one core, measured after the program
  std::optional<double> served_share;      // of the time in the BLAS: in calls whose FLOP are known
  std::string how;
  std::string reason;
};

struct BlasEvidence {
  Declared declared;
  std::vector<LoadedLibrary> loaded;
  std::vector<ChosenCore> chosen_cores;
  Called called;
  Executed executed;
  AchievedRate achieved_rate;
};

// A part of a program's CPU time, with the 95 % interval of a share of so many samples.
struct TimeShare {
  std::string what;  // "BLAS", "oneDNN", "waiting threads"
  double fraction = 0, low = 0, high = 0;
};

// That of a program; its ladder was measured after the program had ended.
struct RunBlas : JudgedBlas {
  FactorOf factor_of = FactorOf::kSgemm;
  std::optional<double> calls_covered;  // of the work in calls: in those that were made again
  std::string calls_note;               // which were, or why none
  std::string fastest;                  // what `factor` compares with, "SkylakeX (512-bit)"
  // 1 / (1 - p + p / factor), with p the share of the program's time in its BLAS.
  std::optional<double> program_factor, blas_share;
  std::string blas_share_of;           // "CPU time", "wall time"; else why there is none
  std::vector<TimeShare> time_shares;  // empty: too few samples
  std::vector<std::string> findings;   // one sentence each, most important first
  BlasEvidence evidence;
};

}  // namespace hwprof::report

namespace hwprof::model {

template <>
struct EnumNames<report::VectorClass> {
  using enum report::VectorClass;
  static constexpr EnumName<report::VectorClass> kAll[] = {
      {kNone, "", "not known"},
      {kScalar, "scalar", "no vectors"},
      {kSse, "sse", "128 bits without FMA"},
      {kNeon, "neon", "128 bits with FMA"},
      {kSve, "sve", "as long as the CPU has them"},
      {kAvx, "avx", "256 bits without FMA"},
      {kAvx2, "avx2", "256 bits with FMA"},
      {kAvx512, "avx512", "512 bits with FMA"},
  };
};

template <>
struct EnumNames<report::VerdictKind> {
  using enum report::VerdictKind;
  static constexpr EnumName<report::VerdictKind> kAll[] = {
      {kOptimal, "optimal", "nothing here is much faster"},
      {kBorderline, "borderline", "what was measured does not clear the threshold"},
      {kSuboptimal, "suboptimal", "a tier down"},
      {kUnoptimised, "unoptimised", "far down, or vectors of 128 bits on a CPU with more"},
      {kOverheadBound, "overhead-bound", "its products are so small that calling dominates"},
      {kWrongResults, "wrong-results", "a product was computed wrongly"},
      {kNotCalled, "not-called", "no BLAS was"},
      {kOtherLibrary, "other-library", "the work was done by what is no BLAS"},
      {kMissing, "missing", "programs here get none"},
      {kInconclusive, "inconclusive", "the evidence is too little"},
  };
};

template <>
struct EnumNames<report::FactorOf> {
  using enum report::FactorOf;
  static constexpr EnumName<report::FactorOf> kAll[] = {
      {kSgemm, "sgemm", "a square product, whatever the program does"},
      {kCalls, "calls", "the program's own, made again"},
  };
};

template <>
struct EnumNames<report::MissedBecause> {
  using enum report::MissedBecause;
  static constexpr EnumName<report::MissedBecause> kAll[] = {
      {kOwnCall, "own-call",
       "the library calls it itself, which the dynamic loader binds for nobody"},
      {kNoFile, "no-file", "the call came from code of no file"},
      {kBinding, "binding", "LD_AUDIT was not told how the caller was bound"},
  };
};

using report::Blas, report::Verdict, report::Results, report::LadderRung, report::JudgedBlas,
    report::ProfileBlas, report::InstalledBlas, report::SurveyedBlas, report::Declared,
    report::LoadedLibrary, report::ChosenCore, report::CallShape, report::CallSite,
    report::MissedCalls, report::ComparedCalls, report::Called, report::SampleShare,
    report::LibraryLoops, report::Executed, report::AchievedRate, report::BlasEvidence,
    report::TimeShare, report::RunBlas;

template <>
const Record& record<Results>();
template <>
const Record& record<LadderRung>();
template <>
const Record& record<Blas>();
template <>
const Record& record<JudgedBlas>();
template <>
const Record& record<ProfileBlas>();
template <>
const Record& record<SurveyedBlas>();
template <>
const Record& record<Declared>();
template <>
const Record& record<LoadedLibrary>();
template <>
const Record& record<ChosenCore>();
template <>
const Record& record<CallShape>();
template <>
const Record& record<CallSite>();
template <>
const Record& record<MissedCalls>();
template <>
const Record& record<ComparedCalls>();
template <>
const Record& record<Called>();
template <>
const Record& record<SampleShare>();
template <>
const Record& record<LibraryLoops>();
template <>
const Record& record<Executed>();
template <>
const Record& record<AchievedRate>();
template <>
const Record& record<BlasEvidence>();
template <>
const Record& record<TimeShare>();
template <>
const Record& record<RunBlas>();

}  // namespace hwprof::model

namespace hwprof::report {

inline std::string_view to_text(VectorClass vectors) { return model::name_of(vectors); }
inline std::string_view to_text(FactorOf what) { return model::name_of(what); }
inline std::string_view to_text(VerdictKind verdict) { return model::name_of(verdict); }

}  // namespace hwprof::report
