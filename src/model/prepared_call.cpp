#include "src/model/prepared_call.h"

namespace hwprof::model {

std::optional<double> rate_of(const PreparedCall& call) {
  if (call.flops.value_or(0) <= 0 || call.time_ns.value_or(0) <= 0) return std::nullopt;
  return *call.flops / *call.time_ns;
}

std::string routine_of(const PreparedCall& call) {
  return call.direction.empty() ? call.kind : call.kind + " " + call.direction;
}

template <>
const Record& record<PreparedCall>() {
  static constexpr Field kFields[] = {
      field<&PreparedCall::kind>("kind", "",
                                 "of oneDNN as it names it: `convolution`, `reorder`; of FFTW "
                                 "`c2c`, `r2c`, `c2r`, `r2r`, and `planning c2c`")
          .null_if_empty(),
      field<&PreparedCall::direction>("direction", "",
                                      "`forward_training`, `forward_inference`, `backward_data`, "
                                      "`backward_weights`; of a c2c transform `forward`, "
                                      "`backward`; null: it has none")
          .null_if_empty(),
      field<&PreparedCall::implementation>(
          "implementation", "",
          "kernel that the library chose, with the instruction set that it was made for: "
          "`jit:avx512_core`")
          .null_if_empty(),
      field<&PreparedCall::type>("type", "", "of the numbers that it reads: `f32`").null_if_empty(),
      field<&PreparedCall::shape>("shape", "",
                                  "source, weights and result where there are such, or their "
                                  "gradients: `64x3x32x32 * 16x3x3x3 -> 64x16x30x30`; of a "
                                  "transform its sizes, and how many at once: `8 of 512x512`")
          .null_if_empty(),
      field<&PreparedCall::library>("library", "", "file that served it"),
      field<&PreparedCall::caller>("caller", "", "file that called").null_if_empty(),
      field<&PreparedCall::count>("count", "", "calls"),
      field<&PreparedCall::time_ns>("time_ns", "ns",
                                    "inside them, all threads added up; null: some did not return"),
      field<&PreparedCall::time_share>("time_share", "",
                                       "of the time inside all calls of this list"),
      field<&PreparedCall::flops>("flops", "FLOP",
                                  "over all calls, by their shape; null: it does not tell. Of a "
                                  "transform the convention: 5 N log2 N of complex numbers, 2.5 N "
                                  "log2 N of real ones"),
      computed<rate_of>("gflops", "GFLOP/s", "`flops` / `time_ns`: of one calling thread"),
      field<&PreparedCall::cores>("cores", "",
                                  "CPU time in these calls / `time_ns`; null: not known; `--lines` "
                                  "tells, but for few samples and other calls inside"),
      field<&PreparedCall::peak_fraction>(
          "peak_fraction", "",
          "of `performing.core_peak_gflops`, for f64 of half of it; times `cores` where there may "
          "have been several"),
      field<&PreparedCall::peak_fraction_reason>("peak_fraction_reason", "", "why it is null")
          .null_if_empty(),
      field<&PreparedCall::reason>("reason", "", "why `kind` is null").null_if_empty(),
  };
  static constexpr Record kRecord{
      "PreparedCall", "Calls on objects that were made before for one kind of work and one shape.",
      kFields};
  return kRecord;
}

}  // namespace hwprof::model
