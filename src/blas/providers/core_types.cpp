#include "src/blas/providers/core_types.h"

#include <strings.h>

#include <algorithm>

namespace hwprof::blas {
namespace {

#if defined(__aarch64__)
constexpr const char* kBaseline = "neon";

// 0.3.21 prints them in lower case; OPENBLAS_CORETYPE ignores the case.
constexpr CoreType kOpenBlas[] = {
    {"neoversev1", "gotoblas_NEOVERSEV1", {"sve"}, "sve"},
    {"neoversen2", "gotoblas_NEOVERSEN2", {"sve"}, "sve"},
    {"a64fx", "gotoblas_A64FX", {"sve"}, "sve"},
    {"armv8sve", "gotoblas_ARMV8SVE", {"sve"}, "sve"},
    {"neoversen1", "gotoblas_NEOVERSEN1", {}, "neon"},
    {"thunderx2t99", "gotoblas_THUNDERX2T99", {}, "neon"},
    {"thunderx3t110", "gotoblas_THUNDERX3T110", {}, "neon"},
    {"tsv110", "gotoblas_TSV110", {}, "neon"},
    {"emag8180", "gotoblas_EMAG8180", {}, "neon"},
    {"falkor", "gotoblas_FALKOR", {}, "neon"},
    {"cortexa73", "gotoblas_CORTEXA73", {}, "neon"},
    {"cortexa72", "gotoblas_CORTEXA72", {}, "neon"},
    {"cortexa57", "gotoblas_CORTEXA57", {}, "neon"},
    {"cortexa55", "gotoblas_CORTEXA55", {}, "neon"},
    {"cortexa53", "gotoblas_CORTEXA53", {}, "neon"},
    {"thunderx", "gotoblas_THUNDERX", {}, "neon"},
    {"armv8", "gotoblas_ARMV8", {}, "neon"},
};
constexpr CoreType kBlis[] = {
    {"armsve", nullptr, {"sve"}, "sve"}, {"a64fx", nullptr, {"sve"}, "sve"},
    {"firestorm", nullptr, {}, "neon"},  {"thunderx2", nullptr, {}, "neon"},
    {"cortexa57", nullptr, {}, "neon"},  {"cortexa53", nullptr, {}, "neon"},
    {"generic", nullptr, {}, ""},
};
#else
constexpr const char* kBaseline = "sse";

// Cores before SSE2 (Katmai, Coppermine, Athlon, ...) are left out: a 64-bit build exports their
// tables empty and runs Prescott in their place. Bulldozer and its successors execute FMA4,
// Opteron 3DNow!: on other CPUs they die of SIGILL (0.3.21 on Zen 5), on their own they are the
// library's own choice.
constexpr CoreType kOpenBlas[] = {
    {"SkylakeX", "gotoblas_SKYLAKEX", {"avx512f"}, "avx512"},
    {"Cooperlake", "gotoblas_COOPERLAKE", {"avx512f", "avx512_bf16"}, "avx512"},
    {"SapphireRapids", "gotoblas_SAPPHIRERAPIDS", {"avx512f", "avx512_bf16", "amx_bf16"}, "avx512"},
    {"Haswell", "gotoblas_HASWELL", {"avx2", "fma"}, "avx2"},
    {"Zen", "gotoblas_ZEN", {"avx2", "fma"}, "avx2"},
    {"Excavator", "gotoblas_EXCAVATOR", {"avx2", "fma4"}, "avx"},
    {"Steamroller", "gotoblas_STEAMROLLER", {"avx", "fma4"}, "avx"},
    {"Piledriver", "gotoblas_PILEDRIVER", {"avx", "fma4"}, "avx"},
    {"Bulldozer", "gotoblas_BULLDOZER", {"avx", "fma4"}, "avx"},
    {"Sandybridge", "gotoblas_SANDYBRIDGE", {"avx"}, "avx"},
    {"Nehalem", "gotoblas_NEHALEM", {}, "sse"},
    {"Penryn", "gotoblas_PENRYN", {}, "sse"},
    {"Dunnington", "gotoblas_DUNNINGTON", {}, "sse"},
    {"Core2", "gotoblas_CORE2", {}, "sse"},
    {"Barcelona", "gotoblas_BARCELONA", {}, "sse"},
    {"Opteron_SSE3", "gotoblas_OPTERON_SSE3", {"3dnow"}, "sse"},
    {"Prescott", "gotoblas_PRESCOTT", {}, "sse"},
    {"Opteron", "gotoblas_OPTERON", {"3dnow"}, "sse"},
    {"Nano", "gotoblas_NANO", {}, "sse"},
    {"Atom", "gotoblas_ATOM", {}, "sse"},
    {"Bobcat", "gotoblas_BOBCAT", {}, "sse"},
};
// knl needs AVX512PF and ER, which only Knights Landing has; "generic" is C for the x86-64
// baseline.
constexpr CoreType kBlis[] = {
    {"skx", nullptr, {"avx512f"}, "avx512"},
    {"zen4", nullptr, {"avx512f"}, "avx512"},
    {"zen3", nullptr, {"avx2", "fma"}, "avx2"},
    {"haswell", nullptr, {"avx2", "fma"}, "avx2"},
    {"zen2", nullptr, {"avx2", "fma"}, "avx2"},
    {"zen", nullptr, {"avx2", "fma"}, "avx2"},
    {"excavator", nullptr, {"avx", "fma"}, "avx"},
    {"piledriver", nullptr, {"avx", "fma"}, "avx"},
    {"sandybridge", nullptr, {"avx"}, "avx"},
    {"penryn", nullptr, {}, "sse"},
    {"generic", nullptr, {}, "sse"},
};
#endif

bool has(const std::vector<std::string>& isa, std::string_view name) {
  return std::find(isa.begin(), isa.end(), name) != isa.end();
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::span<const CoreType> core_types(std::string_view provider) {
  if (provider == "openblas") return kOpenBlas;
  if (provider == "blis") return kBlis;
  return {};
}

const CoreType* find_core_type(std::string_view provider, std::string_view name) {
  for (const CoreType& core : core_types(provider)) {
    if (same_name(core.name, name)) return &core;
  }
  return nullptr;
}

bool can_run(const CoreType& core, const std::vector<std::string>& isa) {
  return std::all_of(core.needs.begin(), core.needs.end(),
                     [&](const char* need) { return need == nullptr || has(isa, need); });
}

std::string vector_class_of(std::string_view provider, std::string_view core) {
  if (provider == "reference") return "scalar";
  const CoreType* found = find_core_type(provider, core);
  return found != nullptr ? found->vector_class : "";
}

std::string widest_vector_class(const std::vector<std::string>& isa) {
  if (has(isa, "avx512f")) return "avx512";
  if (has(isa, "avx2") && has(isa, "fma")) return "avx2";
  if (has(isa, "avx")) return "avx";
  return kBaseline;
}

int vector_rank(std::string_view vector_class) {
  if (vector_class == "scalar") return 0;
  if (vector_class == "sse" || vector_class == "neon" || vector_class == "sve") return 1;
  if (vector_class == "avx") return 2;
  if (vector_class == "avx2") return 3;
  if (vector_class == "avx512") return 4;
  return -1;
}

}  // namespace hwprof::blas
