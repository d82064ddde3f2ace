// Libraries, core types and states in the words of verdicts and findings. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/blas/judge/judge.h"

namespace hwprof::blas {

std::string_view in_words(Provider provider);
// A wrapper with what stands behind it.
std::string in_words(const Identity& library);
// "SkylakeX (512-bit)", "the reference BLAS (scalar)"
std::string in_words(const report::LadderRung& rung);
// "SkylakeX (512-bit) of OpenBLAS", "the reference BLAS (scalar)"
std::string rung_label(const report::LadderRung& rung);
// "libopenblas Haswell kernels", "the reference BLAS"
std::string kernels_of(const report::Blas& library);
// "libtorch_cpu" of "/usr/lib/libtorch_cpu.so.1.13".
std::string file_label(const std::string& path);

// "256-bit kernels", "scalar code"
std::string code_of(VectorClass vectors);
// "sgemm runs on 256-bit kernels at 0.47 of the FMA peak"
std::string state_of(const report::LadderRung& rung);
// "with this program's calls", "on this CPU"
std::string_view measured_with(const report::LadderRung& rung);
// "programs get", "--blas names"
std::string_view who_gets(const Evidence& evidence);
// "OPENBLAS_CORETYPE=Haswell and OPENBLAS_NUM_THREADS=1"
std::string assignments(const std::vector<std::string>& names,
                        const std::map<std::string, std::string>& set);
// "1.9", "41": two digits, as headlines have them.
std::string two_digits(double factor);

}  // namespace hwprof::blas
