// Where the CPU time went, as a record.
#include "src/model/blas.h"

namespace hwprof::model {
namespace {

std::optional<int> threads_in_loops(const Executed& executed) { return executed.threads(); }

}  // namespace

template <>
const Record& record<SampleShare>() {
  static constexpr Field kFields[] = {
      field<&SampleShare::name>("name", "", ""),
      field<&SampleShare::library>("library", "", "its file").null_if_empty(),
      field<&SampleShare::samples>("samples", "", ""),
      field<&SampleShare::fraction>("fraction", "", "of all samples"),
  };
  static constexpr Record kRecord{"Symbol", "", kFields};
  return kRecord;
}

template <>
const Record& record<HotLine>() {
  static constexpr Field kFields[] = {
      field<&HotLine::file>("file", "", ""),
      field<&HotLine::line>("line", "", ""),
      field<&HotLine::symbol>("symbol", "", "").null_if_empty(),
      field<&HotLine::samples>("samples", "", ""),
      field<&HotLine::fraction>("fraction", "", "of all samples"),
  };
  static constexpr Record kRecord{"Line", "Of source code.", kFields};
  return kRecord;
}

template <>
const Record& record<FoldedStack>() {
  static constexpr Field kFields[] = {
      field<&FoldedStack::frames>(
          "frames", "",
          "outermost first; the first is the process, those of Python are function (file:line)"),
      field<&FoldedStack::samples>("samples", "", "in this very stack"),
  };
  static constexpr Record kRecord{"Stack", "Equal call stacks, counted together.", kFields};
  return kRecord;
}

template <>
const Record& record<Executed>() {
  static constexpr Field kFields[] = {
      field<&Executed::samples>("samples", "", ""),
      field<&Executed::lost>("lost", "", "samples that the kernel dropped"),
      field<&Executed::frequency_hz>("frequency_hz", "Hz", "").whole().null_if_empty(),
      by_name<&Executed::by_library, &SampleShare::name, &SampleShare::fraction>(
          "by_library", "", "share of the CPU time"),
      by_name<&Executed::by_symbol, &SampleShare::name, &SampleShare::fraction>(
          "by_symbol", "", "share of the CPU time; `symbols` has each file's"),
      field<&Executed::by_symbol>("symbols", "", "with their files"),
      by_name<&Executed::vector_width, &SampleShare::name, &SampleShare::fraction>(
          "vector_width", "",
          "share by the width of the enclosing loop: `512`, `256`, `128`, `scalar`; `no-loop`, "
          "`unclassified`"),
      computed<threads_in_loops>("threads", "", "of the first of `loops`"),
      field<&Executed::loops>("loops", "", "most samples first"),
      field<&Executed::waiting>("waiting", "",
                                "of `symbols`: where threads wait for others (spins, yields, "
                                "futexes)"),
      field<&Executed::unnamed_products>(
          "unnamed_products", "",
          "by path: in loops that multiply and add, in functions without a name, of a file that "
          "takes no BLAS from another: it may hold one"),
      field<&Executed::lines>("lines", "", "with `--lines`"),
      field<&Executed::stacks>("stacks", "",
                               "of a page, and with `--flame`, `--folded`, `--speedscope` or "
                               "`--pprof`; else empty"),
      field<&Executed::whole_stacks>("whole_stacks", "",
                                     "share of the samples whose stack reaches main or the start "
                                     "of its thread"),
      field<&Executed::notes>("notes", "", "how sure it is"),
      field<&Executed::reason>("reason", "", "why there is nothing").null_if_empty(),
  };
  static constexpr Record kRecord{"Executed", "Where the CPU time went.", kFields};
  return kRecord;
}

}  // namespace hwprof::model
