#include "src/model/blas.h"

namespace hwprof::report {

std::string form_of(const CallShape& shape) {
  std::string text;
  const auto add = [&](bool is, const char* word) {
    if (is) text += (text.empty() ? "" : ", ") + std::string(word);
  };
  add(shape.right, "right");
  add(shape.transposed_a, "A^T");
  add(shape.transposed_b, "B^T");
  add(shape.row_major, "row-major");
  return text;
}

std::optional<double> gflops_of(const CallSite& site) {
  if (site.flops.value_or(0) <= 0 || site.time_ns.value_or(0) <= 0) return std::nullopt;
  return *site.flops / *site.time_ns;
}

}  // namespace hwprof::report

namespace hwprof::model {
namespace {

// The words that name_of() and form_of() make, back.
template <auto Member>
void take_provider(ClassOf<Member>& to, const Scalar& from) {
  if (const auto* name = std::get_if<std::string_view>(&from))
    to.*Member = report::provider_named(*name);
}

void take_form(CallShape& shape, const Scalar& from) {
  const auto* form = std::get_if<std::string_view>(&from);
  const auto has = [&](std::string_view word) {
    return form != nullptr && form->find(word) != std::string_view::npos;
  };
  shape.right = has("right");
  shape.transposed_a = has("A^T");
  shape.transposed_b = has("B^T");
  shape.row_major = has("row-major");
}

}  // namespace

template <>
const Record& record<Results>() {
  static constexpr Field kFields[] = {
      field<&Results::right>("right", "", "null: not checked"),
      field<&Results::wrong>("wrong", "", "the first product that is not").null_if_empty(),
      field<&Results::bits>("bits", "", "of the products of one thread: equal where all bits are")
          .null_if_empty(),
  };
  static constexpr Record kRecord{"Results", "Whether products are what they should be.", kFields};
  return kRecord;
}

template <>
const Record& record<LadderRung>() {
  static constexpr Field kFields[] = {
      field<&LadderRung::core>("core", "", "core type that ran, by the library's own word")
          .null_if_empty(),
      field<&LadderRung::setting>("setting", "", "`as found`, `auto`, or the variable set"),
      field<&LadderRung::gflops>("gflops", "GFLOP/s", "null: `reason`"),
      field<&LadderRung::peak_fraction>("peak_fraction", "",
                                        "sgemm over the FMA peak beside it, each by CPU time"),
      interval<&LadderRung::peak_fraction_low, &LadderRung::peak_fraction_high>(
          "peak_fraction_ci95", "", "null: measured in fewer than three processes")
          .with(Field::kNullUnlessWhole),
      field<&LadderRung::calls_fraction>("calls_fraction", "",
                                         "the same of a program's own calls, made again"),
      interval<&LadderRung::calls_fraction_low, &LadderRung::calls_fraction_high>(
          "calls_fraction_ci95", "", "")
          .with(Field::kNullUnlessWhole),
      field<&LadderRung::vector_class>("vector_class", "", "`avx2`, `avx512`, `neon`, ...")
          .null_if_empty(),
      field<&LadderRung::library>("library", "", "path"),
      field<&LadderRung::provider, report::name_of>("provider", "", "")
          .read_by<take_provider<&LadderRung::provider>>(),
      field<&LadderRung::version>("version", "", "as the library says").null_if_empty(),
      field<&LadderRung::as_found>("as_found", "", "what a program gets here"),
      field<&LadderRung::behind>("behind", "", "of a wrapper: what does the work").null_if_empty(),
      field<&LadderRung::results>("results", "", ""),
      field<&LadderRung::own>("own", "", "hwprof's own OpenBLAS, which is not installed"),
      field<&LadderRung::reason>("reason", "", "why it could not be measured").null_if_empty(),
  };
  static constexpr Record kRecord{"Rung", "The same sgemm by another core type or library.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<Blas>() {
  static constexpr Field kFields[] = {
      field<&Blas::provider, report::name_of>(
          "provider", "",
          "`openblas`, `blis`, `mkl`, `atlas`, `flexiblas`, `reference`, "
          "`unknown`; null: none was found")
          .read_by<take_provider<&Blas::provider>>()
          .null_if_empty()
          .column("blas_provider"),
      field<&Blas::version>("version", "", "as the library says")
          .null_if_empty()
          .column("blas_version"),
      field<&Blas::path>("path", "", "the file that serves `sgemm_`").null_if_empty(),
      field<&Blas::core>("core", "", "core type that it chose, as the library says")
          .null_if_empty()
          .column("blas_core"),
      field<&Blas::threads>("threads", "", "as the library says"),
      field<&Blas::threading>("threading", "", "as the library says").null_if_empty(),
      field<&Blas::behind>("behind", "", "of a wrapper: what does the work").null_if_empty(),
  };
  static constexpr Record kRecord{"BlasIdentity", "One library, by what it says of itself.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<JudgedBlas>() {
  static constexpr Field kFields[] = {
      spliced_base<JudgedBlas, Blas>().columns_inside(),
      field<&JudgedBlas::verdict>("verdict", "", "on it").column("blas_verdict"),
      field<&JudgedBlas::factor>("factor", "",
                                 "how many times faster the best rung is than what programs get")
          .column("blas_factor"),
      field<&JudgedBlas::factor_low>("factor_low", "", "of its 95 % interval"),
      field<&JudgedBlas::factor_high>("factor_high", "", ""),
      field<&JudgedBlas::results>("results", "", "of what programs get, as hwprof found it"),
      field<&JudgedBlas::why>("why", "", "the cause").null_if_empty(),
      field<&JudgedBlas::fix>("fix", "", "the variable or package that fixes it").null_if_empty(),
      field<&JudgedBlas::ladder>("ladder", "",
                                 "highest share of the peak first; of a command, measured after it "
                                 "had ended"),
      field<&JudgedBlas::ladder_note>("ladder_note", "", "how it was measured, or why it was not")
          .null_if_empty(),
      field<&JudgedBlas::own>("own", "", "of `ladder`: the fastest of hwprof's own OpenBLAS"),
      field<&JudgedBlas::own_reason>("own_reason", "", "why there is none").null_if_empty(),
  };
  static constexpr Record kRecord{"JudgedBlas", "A library with the verdict on it.", kFields};
  return kRecord;
}

template <>
const Record& record<ProfileBlas>() {
  static constexpr Field kFields[] = {
      spliced_base<ProfileBlas, JudgedBlas>().columns_inside(),
      field<&ProfileBlas::requested>("requested", "", "what was asked for with `--blas`")
          .null_if_empty(),
      field<&ProfileBlas::environment>("environment", "",
                                       "variables of this process that a BLAS reads"),
  };
  static constexpr Record kRecord{"Blas", "What programs get here, and the verdict on it.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<Declared>() {
  static constexpr Field kFields[] = {
      field<&Declared::environment>("environment", "", "variables that shape a BLAS"),
      field<&Declared::environment_reason>("environment_reason", "", "why it is not known")
          .null_if_empty(),
      field<&Declared::default_library>("default_library", "",
                                        "file that the loader gives for libblas.so.3")
          .null_if_empty(),
      field<&Declared::default_provider, report::name_of>("default_provider", "", "")
          .read_by<take_provider<&Declared::default_provider>>()
          .null_if_empty(),
      field<&Declared::needed>("needed", "", "BLAS sonames that the program's file names"),
  };
  static constexpr Record kRecord{"Declared", "Before anything ran.", kFields};
  return kRecord;
}

template <>
const Record& record<LoadedLibrary>() {
  static constexpr Field kFields[] = {
      field<&LoadedLibrary::path>("path", "", ""),
      field<&LoadedLibrary::provider, report::name_of>("provider", "", "")
          .read_by<take_provider<&LoadedLibrary::provider>>(),
      field<&LoadedLibrary::soname>("soname", "", "").null_if_empty(),
      field<&LoadedLibrary::build_id>("build_id", "", "").null_if_empty(),
      field<&LoadedLibrary::serves_blas>(
          "serves_blas", "", "has an `sgemm_` of its own, or served a call of a BLAS routine"),
      field<&LoadedLibrary::elsewhere>(
          "elsewhere", "", "in another mount namespace: its path is no file here, or another one"),
  };
  static constexpr Record kRecord{"Loaded", "A file mapped in any process.", kFields};
  return kRecord;
}

template <>
const Record& record<ChosenCore>() {
  static constexpr Field kFields[] = {
      field<&ChosenCore::provider, report::name_of>("provider", "", "")
          .read_by<take_provider<&ChosenCore::provider>>(),
      field<&ChosenCore::core>("core", "", "").null_if_empty(),
      field<&ChosenCore::how>("how", "", "it is known").null_if_empty(),
      field<&ChosenCore::path>("path", "", "").null_if_empty(),
      field<&ChosenCore::version>("version", "", "").null_if_empty(),
      field<&ChosenCore::vector_class>("vector_class", "", "of that core").null_if_empty(),
      field<&ChosenCore::threads>("threads", "", ""),
      field<&ChosenCore::reason>("reason", "", "why there is no core").null_if_empty(),
  };
  static constexpr Record kRecord{"Selected", "What a library in the live process had chosen.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<CallShape>() {
  static constexpr Field kFields[] = {
      field<&CallShape::m>("m", "", ""),
      field<&CallShape::n>("n", "", ""),
      field<&CallShape::k>("k", "", ""),
      computed<report::form_of>("form", "", "`right`, `A^T`, `B^T`, `row-major`")
          .null_if_empty()
          .read_by<take_form>(),
      field<&CallShape::count>("count", "", "calls"),
      field<&CallShape::time_ns>("time_ns", "ns", "inside them, all threads added up"),
      spliced<&CallShape::numbers>(),
  };
  static constexpr Record kRecord{
      "CallShape", "The result is m x n, each of its elements the sum of k products.", kFields};
  return kRecord;
}

template <>
const Record& record<CallSite>() {
  static constexpr Field kFields[] = {
      field<&CallSite::symbol>("symbol", "", "`sgemm_`"),
      field<&CallSite::library>("library", "", "file that served it"),
      field<&CallSite::caller>("caller", "", "file that called").null_if_empty(),
      field<&CallSite::count>("count", "", "calls"),
      field<&CallSite::time_ns>("time_ns", "ns", "inside them, all threads added up"),
      field<&CallSite::flops>("flops", "FLOP", "over all calls, by their shapes"),
      computed<report::gflops_of>("gflops", "GFLOP/s",
                                  "`flops` / `time_ns`: of one calling thread"),
      field<&CallSite::time_share>("time_share", "",
                                   "of the time inside all calls that were timed, all threads "
                                   "added up"),
      field<&CallSite::time_share_reason>("time_share_reason", "", "why it is null")
          .null_if_empty(),
      field<&CallSite::cores>("cores", "",
                              "CPU time in these calls / `time_ns`; null: only `--lines` tells, "
                              "or too few samples"),
      field<&CallSite::peak_fraction>(
          "peak_fraction", "",
          "of `performing.core_peak_gflops`, for float64 of half of it; times the cores that "
          "worked in these calls where there may have been several"),
      field<&CallSite::peak_fraction_reason>("peak_fraction_reason", "", "why it is null")
          .null_if_empty(),
      field<&CallSite::shapes>("shapes", "", "most FLOP first"),
      field<&CallSite::calls_of_other_shapes>("calls_of_other_shapes", "", "that found no room"),
      spliced<&CallSite::numbers>(),
      field<&CallSite::denormal_replay>(
          "denormal_replay", "",
          "where calls met denormal numbers and `denormal_slowdown` is null"),
      field<&CallSite::nan_first>("nan_first", "",
                                  "of all sampled operands, the first with NaN was one of these"),
  };
  static constexpr Record kRecord{"Calls", "Of one symbol from one library into another.", kFields};
  return kRecord;
}

template <>
const Record& record<MissedCalls>() {
  static constexpr Field kFields[] = {
      field<&MissedCalls::symbol>("symbol", "", "the routine"),
      field<&MissedCalls::caller>("caller", "", "file; `\"\"`: code of no file"),
      field<&MissedCalls::library>("library", "", "file that has the routine"),
      field<&MissedCalls::because>("because", "", ""),
      field<&MissedCalls::by_uprobes>("by_uprobes", "", "calls of this caller"),
      field<&MissedCalls::by_audit>("by_audit", "",
                                    "calls of the same routine of that library which stubs saw, of "
                                    "other callers"),
  };
  static constexpr Record kRecord{"MissedCalls", "Calls of one routine that uprobes alone saw.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<ComparedCalls>() {
  static constexpr Field kFields[] = {
      field<&ComparedCalls::by_both>("by_both", "", "calls that both ways saw"),
      field<&ComparedCalls::within>("within", "",
                                    "of a library in itself, taken for part of the calls into it"),
      field<&ComparedCalls::missed>("missed", "", "calls that uprobes alone saw"),
      field<&ComparedCalls::lost>("lost", "", "records that uprobes lost: more may be missed"),
      field<&ComparedCalls::missed_calls>("missed_calls", "", "by routine, caller and library"),
  };
  static constexpr Record kRecord{"ComparedCalls", "What uprobes saw beside the stubs of LD_AUDIT.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<Called>() {
  static constexpr Field kFields[] = {
      field<&Called::how>("how", "", "`uprobe`, `audit`, `none`"),
      field<&Called::calls>("calls", "", "outermost calls only; most FLOP first"),
      field<&Called::lapack>("lapack", "",
                             "calls of LAPACK, by `audit` alone; some of `calls` lie within them"),
      field<&Called::primitives>("primitives", "",
                                 "of oneDNN, by `audit` alone; longest time first"),
      field<&Called::transforms>("transforms", "", "of FFTW, likewise"),
      field<&Called::wall_ns>("wall_ns", "ns", "with at least one thread inside those with a time"),
      field<&Called::lost>("lost", "", "records that the kernel dropped"),
      field<&Called::added_ns>("added_ns", "ns",
                               "CPU time that watching has cost the program, estimated"),
      field<&Called::executions>("executions", "",
                                 "programs that ran, one an execve; null: not known"),
      field<&Called::executions_watched>("executions_watched", "",
                                         "of those: every call could be seen"),
      field<&Called::executions_going_on>("executions_going_on", "",
                                          "of the others: they went on after the command's end"),
      field<&Called::own_routines>("own_routines", "",
                                   "files whose own code may have called routines of a BLAS in "
                                   "them, unseen by `audit`; where no work of a BLAS was seen"),
      field<&Called::compared>("compared", "",
                               "`--calls-by both`: what each way saw; null: not asked for, or one "
                               "of them was not there (`reason`)"),
      field<&Called::spans>("spans", "", "the longest of the calls, in the order of time"),
      field<&Called::spans_begin_ns>("spans_begin_ns", "ns",
                                     "CLOCK_MONOTONIC when the first of them began; null: there is "
                                     "none, or its clock is not known"),
      field<&Called::spans_note>("spans_note", "", "which are left out").null_if_empty(),
      field<&Called::lines_reason>("lines_reason", "", "why some of them have no `line`")
          .null_if_empty(),
      field<&Called::blind_to>("blind_to", "", "what this way cannot see, a sentence each"),
      field<&Called::numbers_reason>("numbers_reason", "",
                                     "why numbers that calls met, or their flags, are null")
          .null_if_empty(),
      field<&Called::reason>("reason", "", "why `how` is none, or not the best one")
          .null_if_empty(),
  };
  static constexpr Record kRecord{"Called", "Calls of a BLAS.", kFields};
  return kRecord;
}

template <>
const Record& record<LibraryLoops>() {
  static constexpr Field kFields[] = {
      field<&LibraryLoops::library>("library", "", "path, or `[generated code]`"),
      field<&LibraryLoops::provider, report::name_of>("provider", "", "")
          .read_by<take_provider<&LibraryLoops::provider>>()
          .null_if_empty(),
      field<&LibraryLoops::symbol>("symbol", "", "the hottest").null_if_empty(),
      field<&LibraryLoops::symbol_fraction>("symbol_fraction", "",
                                            "of all samples: that symbol's in these loops"),
      field<&LibraryLoops::width>("width", "",
                                  "of most of its samples in loops: `512`, `256`, `128`, `scalar`"),
      field<&LibraryLoops::fma>("fma", "", "they multiply and add in one instruction"),
      field<&LibraryLoops::samples>("samples", "", ""),
      field<&LibraryLoops::fraction>("fraction", "", "of all samples"),
      field<&LibraryLoops::threads>("threads", "", "distinct ones in those loops"),
      field<&LibraryLoops::at_once>("at_once", "", "of them, on average"),
  };
  static constexpr Record kRecord{"Loops", "Of one file whose loops compute.", kFields};
  return kRecord;
}

template <>
const Record& record<SpanLine>() {
  static constexpr Field kFields[] = {
      field<&SpanLine::file>("file", "", ""),
      field<&SpanLine::line>("line", "", ""),
      field<&SpanLine::function>("function", "", ""),
  };
  static constexpr Record kRecord{"SpanLine", "The line that a call came from.", kFields};
  return kRecord;
}

template <>
const Record& record<TraceSpan>() {
  static constexpr Field kFields[] = {
      field<&TraceSpan::name>("name", "", "of the region; of a call the routine and its shape"),
      field<&TraceSpan::thread>("thread", "", ""),
      field<&TraceSpan::depth>("depth", "", "in how many others"),
      field<&TraceSpan::start_ns>("start_ns", "ns", "since the first"),
      field<&TraceSpan::duration_ns>("duration_ns", "ns", ""),
      field<&TraceSpan::process>("process", "",
                                 "of a call of a routine: its process, as that knows itself; as "
                                 "those below it is not there where it is not known")
          .left_out_if_absent(),
      field<&TraceSpan::region>(
          "region", "",
          "`step/dot`: the regions that its thread was in, or the end of that; "
          "absent: in none")
          .left_out_if_absent(),
      field<&TraceSpan::line>(
          "line", "", "of Python, the innermost of the program's own; absent: `lines_reason`")
          .left_out_if_absent(),
      field<&TraceSpan::stack>("stack", "",
                               "functions of Python as `forward (net.py:12)`, innermost first, at "
                               "most six")
          .left_out_if_absent(),
  };
  static constexpr Record kRecord{"Span", "A call of a region, or of a routine.", kFields};
  return kRecord;
}

template <>
const Record& record<AchievedRate>() {
  static constexpr Field kFields[] = {
      field<&AchievedRate::gflops>("gflops", "GFLOP/s", "FLOP of the calls over their wall time"),
      field<&AchievedRate::cores>("cores", "",
                                  "that worked at once, on average: CPU time / wall time of calls"),
      field<&AchievedRate::peak_fraction>("peak_fraction", "", "of as many cores"),
      field<&AchievedRate::core_peak_gflops>("core_peak_gflops", "GFLOP/s",
                                             "float32 FMA of one core, measured after the program"),
      field<&AchievedRate::served_share>(
          "served_share", "",
          "of the time in the BLAS: in calls whose FLOP are known; no rate below 0.9"),
      field<&AchievedRate::how>("how", "", "").null_if_empty(),
      field<&AchievedRate::reason>("reason", "", "why it is null").null_if_empty(),
  };
  static constexpr Record kRecord{"Rate", "What the calls reached.", kFields};
  return kRecord;
}

template <>
const Record& record<BlasEvidence>() {
  static constexpr Field kFields[] = {
      field<&BlasEvidence::declared>("declared", "", ""),
      field<&BlasEvidence::loaded>("loaded", "", "of all processes"),
      field<&BlasEvidence::chosen_cores>("selected", "", ""),
      field<&BlasEvidence::called>("called", "", ""),
      field<&BlasEvidence::executed>("executed", "", ""),
      field<&BlasEvidence::achieved_rate>("performing", "", ""),
  };
  static constexpr Record kRecord{
      "Evidence", "Level by level and never merged, since each lies in its own way.", kFields};
  return kRecord;
}

template <>
const Record& record<TimeShare>() {
  static constexpr Field kFields[] = {
      field<&TimeShare::what>("what", "", "`BLAS`, `oneDNN`, `waiting threads`, ..."),
      field<&TimeShare::fraction>("fraction", "", "of all samples"),
      field<&TimeShare::low>("low", "", "95 % interval of a share of so many samples"),
      field<&TimeShare::high>("high", "", ""),
  };
  static constexpr Record kRecord{"TimeShare", "A part of the CPU time.", kFields};
  return kRecord;
}

template <>
const Record& record<RunBlas>() {
  static constexpr Field kFields[] = {
      spliced_base<RunBlas, JudgedBlas>(),
      field<&RunBlas::factor_of>("factor_of", "", "what `factor` was measured with"),
      field<&RunBlas::fastest>("fastest", "", "rung with which `factor` compares").null_if_empty(),
      field<&RunBlas::calls_covered>("calls_covered", "",
                                     "of the work in calls: in those that were made again"),
      field<&RunBlas::calls_note>("calls_note", "", "which were, or why none").null_if_empty(),
      field<&RunBlas::program_factor>("program_factor", "",
                                      "of the whole program: 1 / (1 - p + p / `factor`)"),
      field<&RunBlas::blas_share>("blas_share", "", "p: of the program's time, in its BLAS"),
      field<&RunBlas::blas_share_of>("blas_share_of", "",
                                     "`CPU time`, `wall time`; else why there is none")
          .null_if_empty(),
      field<&RunBlas::time_shares>("time_shares", "",
                                   "of the CPU time; the rest is other code; "
                                   "empty: too few samples"),
      field<&RunBlas::findings>("findings", "", "sentences, the most important first"),
      field<&RunBlas::evidence>("evidence", "", ""),
  };
  static constexpr Record kRecord{"RunBlas", "Which BLAS the program used, and the verdict on it.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<SurveyedBlas>() {
  static constexpr Field kFields[] = {
      spliced_base<SurveyedBlas, Blas>(),
      field<&SurveyedBlas::how>("found_by", "", "`loader cache libopenblas.so.0`, `given`"),
      field<&SurveyedBlas::is_default>("default", "",
                                       "what a program gets that asks for libblas.so.3"),
      field<&SurveyedBlas::size>("size", "", "of the products").null_if_empty(),
      field<&SurveyedBlas::sgemm_gflops>("sgemm.gflops", "GFLOP/s", "one thread; null: `reason`"),
      field<&SurveyedBlas::sgemm_peak_fraction>("sgemm.peak_fraction", "", ""),
      field<&SurveyedBlas::dgemm_gflops>("dgemm.gflops", "GFLOP/s", ""),
      field<&SurveyedBlas::dgemm_peak_fraction>("dgemm.peak_fraction", "", ""),
      field<&SurveyedBlas::select>("select", "", "command that makes it the default")
          .null_if_empty(),
      field<&SurveyedBlas::reason>("reason", "", "why it was not measured").null_if_empty(),
  };
  static constexpr Record kRecord{"InstalledBlas", "A library of this machine.", kFields};
  return kRecord;
}

}  // namespace hwprof::model
