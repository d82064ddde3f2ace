#include "src/model/line_use.h"

namespace hwprof::model {

template <>
const Record& record<LineCall>() {
  static constexpr Field kFields[] = {
      field<&LineCall::routine>("routine", "", "of oneDNN what its primitive does"),
      field<&LineCall::library>("library", "", "file that served it"),
      field<&LineCall::provider>("provider", "", "of the library; null: not known").null_if_empty(),
      field<&LineCall::core>("core", "", "that the library had chosen; null: not known")
          .null_if_empty(),
      field<&LineCall::kernel>("kernel", "", "that oneDNN had chosen; null: not known")
          .null_if_empty(),
      field<&LineCall::type>("type", "", "of its numbers; null: as the routine's name says")
          .null_if_empty(),
      field<&LineCall::share>("share", "",
                              "of the program's CPU time: in these calls, all threads added up"),
      field<&LineCall::calls>(
          "calls", "",
          "exact where no other line makes such calls, else as the samples share them"),
      field<&LineCall::time_ns>("time_ns", "ns", "inside the calls, likewise"),
      field<&LineCall::cores>("cores", "",
                              "CPU time in them over `time_ns`; null: too few samples"),
      field<&LineCall::gflops>("gflops", "GFLOP/s", "null: FLOP or time are not known"),
      field<&LineCall::peak_fraction>("peak_fraction", "",
                                      "of the peak of `cores`; null: one of both is not known"),
      field<&LineCall::shapes>("shapes", "", "most time first"),
  };
  static constexpr Record kRecord{"LineCall", "Calls of a routine that one line made.", kFields};
  return kRecord;
}

template <>
const Record& record<LinePart>() {
  static constexpr Field kFields[] = {
      field<&LinePart::what>(
          "what", "",
          "`Python` itself, `own code` of a compiled line, `waiting`, `[page faults]`, `[kernel]`, "
          "or a file's name"),
      field<&LinePart::share>("share", "", "of the program's CPU time"),
  };
  static constexpr Record kRecord{"LinePart", "What a line ran that is no timed call.", kFields};
  return kRecord;
}

template <>
const Record& record<LineUse>() {
  static constexpr Field kFields[] = {
      field<&LineUse::file>("file", "", "as Python names it, or debug information"),
      field<&LineUse::line>("line", "", ""),
      field<&LineUse::function>("function", "", "its qualified name"),
      field<&LineUse::language>("language", "", ""),
      field<&LineUse::source>("source", "",
                              "the line's text; null: the file is not there, or not to be read"),
      field<&LineUse::self_share>(
          "self_share", "",
          "of the program's CPU time: in the line, and in code that it calls and that has no line "
          "of the program's own"),
      field<&LineUse::total_share>("total_share", "",
                                   "the same, and in the program's own functions"),
      field<&LineUse::cpu_ns>("cpu_ns", "ns", "of `self_share`"),
      field<&LineUse::calls>("calls", "", "of `self_share`: in timed calls; most time first"),
      field<&LineUse::parts>("parts", "", "the rest of `self_share`; most time first"),
  };
  static constexpr Record kRecord{"LineUse", "A line of the program's source.", kFields};
  return kRecord;
}

template <>
const Record& record<LineGap>() {
  static constexpr Field kFields[] = {
      field<&LineGap::reason>("reason", "", ""),
      field<&LineGap::share>("share", "", "of the program's CPU time"),
  };
  static constexpr Record kRecord{"LineGap", "CPU time that has no line.", kFields};
  return kRecord;
}

template <>
const Record& record<LinesKnown>() {
  static constexpr Field kFields[] = {
      field<&LinesKnown::coverage>("coverage", "", "CPU time that has a line, over all"),
      field<&LinesKnown::versions>("versions", "", "of Python"),
      field<&LinesKnown::gaps>("gaps", "", "what has no line, and why; most time first"),
      field<&LinesKnown::user_mode>("user_mode", "",
                                    "true: shares are of the time in user mode, the kernel's was "
                                    "not sampled (`kernel.perf_event_paranoid`)"),
      field<&LinesKnown::notes>("notes", "", "what could not be said"),
  };
  static constexpr Record kRecord{"LinesKnown", "How much `lines` says.", kFields};
  return kRecord;
}

}  // namespace hwprof::model
