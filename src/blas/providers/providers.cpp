// Sources of the core types: OpenBLAS driver/others/dynamic.c, dynamic_arm64.c and
// kernel/*/KERNEL.*; BLIS frame/include/bli_type_defs.h and config/*.
#include "src/blas/providers/providers.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "src/base/launch.h"
#include "src/blas/providers/choice.h"

namespace hwprof::blas {
namespace {

using enum report::VectorClass;

#if defined(__aarch64__)
constexpr VectorClass kBaseline = kNeon;

// 0.3.21 prints them in lower case; OPENBLAS_CORETYPE ignores the case.
constexpr CoreType kOpenBlasCores[] = {
    {"neoversev1", "gotoblas_NEOVERSEV1", {"sve"}, kSve},
    {"neoversen2", "gotoblas_NEOVERSEN2", {"sve"}, kSve},
    {"a64fx", "gotoblas_A64FX", {"sve"}, kSve},
    {"armv8sve", "gotoblas_ARMV8SVE", {"sve"}, kSve},
    {"neoversen1", "gotoblas_NEOVERSEN1", {}, kNeon},
    {"thunderx2t99", "gotoblas_THUNDERX2T99", {}, kNeon},
    {"thunderx3t110", "gotoblas_THUNDERX3T110", {}, kNeon},
    {"tsv110", "gotoblas_TSV110", {}, kNeon},
    {"emag8180", "gotoblas_EMAG8180", {}, kNeon},
    {"falkor", "gotoblas_FALKOR", {}, kNeon},
    {"cortexa73", "gotoblas_CORTEXA73", {}, kNeon},
    {"cortexa72", "gotoblas_CORTEXA72", {}, kNeon},
    {"cortexa57", "gotoblas_CORTEXA57", {}, kNeon},
    {"cortexa55", "gotoblas_CORTEXA55", {}, kNeon},
    {"cortexa53", "gotoblas_CORTEXA53", {}, kNeon},
    {"thunderx", "gotoblas_THUNDERX", {}, kNeon},
    {"armv8", "gotoblas_ARMV8", {}, kNeon},
};
constexpr CoreType kBlisCores[] = {
    {"armsve", nullptr, {"sve"}, kSve}, {"a64fx", nullptr, {"sve"}, kSve},
    {"firestorm", nullptr, {}, kNeon},  {"thunderx2", nullptr, {}, kNeon},
    {"cortexa57", nullptr, {}, kNeon},  {"cortexa53", nullptr, {}, kNeon},
    {"generic", nullptr, {}, kNone},
};
#else
constexpr VectorClass kBaseline = kSse;

// Cores before SSE2 (Katmai, Coppermine, Athlon, ...) are left out: a 64-bit build exports their
// tables empty and runs Prescott in their place. Bulldozer and its successors execute FMA4,
// Opteron 3DNow!: on other CPUs they die of SIGILL (0.3.21 on Zen 5), on their own they are the
// library's own choice.
constexpr CoreType kOpenBlasCores[] = {
    {"SkylakeX", "gotoblas_SKYLAKEX", {"avx512f"}, kAvx512},
    {"Cooperlake", "gotoblas_COOPERLAKE", {"avx512f", "avx512_bf16"}, kAvx512},
    {"SapphireRapids", "gotoblas_SAPPHIRERAPIDS", {"avx512f", "avx512_bf16", "amx_bf16"}, kAvx512},
    {"Haswell", "gotoblas_HASWELL", {"avx2", "fma"}, kAvx2},
    {"Zen", "gotoblas_ZEN", {"avx2", "fma"}, kAvx2},
    {"Excavator", "gotoblas_EXCAVATOR", {"avx2", "fma4"}, kAvx},
    {"Steamroller", "gotoblas_STEAMROLLER", {"avx", "fma4"}, kAvx},
    {"Piledriver", "gotoblas_PILEDRIVER", {"avx", "fma4"}, kAvx},
    {"Bulldozer", "gotoblas_BULLDOZER", {"avx", "fma4"}, kAvx},
    {"Sandybridge", "gotoblas_SANDYBRIDGE", {"avx"}, kAvx},
    {"Nehalem", "gotoblas_NEHALEM", {}, kSse},
    {"Penryn", "gotoblas_PENRYN", {}, kSse},
    {"Dunnington", "gotoblas_DUNNINGTON", {}, kSse},
    {"Core2", "gotoblas_CORE2", {}, kSse},
    {"Barcelona", "gotoblas_BARCELONA", {}, kSse},
    {"Opteron_SSE3", "gotoblas_OPTERON_SSE3", {"3dnow"}, kSse},
    {"Prescott", "gotoblas_PRESCOTT", {}, kSse},
    {"Opteron", "gotoblas_OPTERON", {"3dnow"}, kSse},
    {"Nano", "gotoblas_NANO", {}, kSse},
    {"Atom", "gotoblas_ATOM", {}, kSse},
    {"Bobcat", "gotoblas_BOBCAT", {}, kSse},
};
// knl needs AVX512PF and ER, which only Knights Landing has; "generic" is C for the x86-64
// baseline.
constexpr CoreType kBlisCores[] = {
    {"skx", nullptr, {"avx512f"}, kAvx512},
    {"zen4", nullptr, {"avx512f"}, kAvx512},
    {"zen3", nullptr, {"avx2", "fma"}, kAvx2},
    {"haswell", nullptr, {"avx2", "fma"}, kAvx2},
    {"zen2", nullptr, {"avx2", "fma"}, kAvx2},
    {"zen", nullptr, {"avx2", "fma"}, kAvx2},
    {"excavator", nullptr, {"avx", "fma"}, kAvx},
    {"piledriver", nullptr, {"avx", "fma"}, kAvx},
    {"sandybridge", nullptr, {"avx"}, kAvx},
    {"penryn", nullptr, {}, kSse},
    {"generic", nullptr, {}, kSse},
};
#endif

// Rows with an enumerator come first, in its order.
constexpr ProviderFacts kProviders[] = {
    {.name = "", .label = ""},
    {.name = "unknown", .label = "an unknown BLAS"},
    {.name = "reference",
     .label = "the reference BLAS",
     .vector_class = kScalar,
     .no_core = "the reference has no core types",
     .threads = 1},
    {.name = "mkl",
     .label = "MKL",
     .symbols = {"mkl_", "MKL_"},
     .constant = "MKL_ENABLE_INSTRUCTIONS",
     .parts = {"mkl_blas_", "mkl_serv_"},
     .message = {"Intel MKL ", "FATAL ERROR"},
     .files = {"libmkl_rt"},
     .kernel_files = {"libmkl_"},
     .kernels = {"mkl_"},
     .variables = {"MKL_"},
     .core_variable = "MKL_ENABLE_INSTRUCTIONS",
     .threads_symbol = "MKL_Get_Max_Threads",
     .ask = ask_mkl,
     .read = read_mkl},
    {.name = "openblas",
     .label = "libopenblas",
     .better = "install a newer OpenBLAS, one that knows this CPU",
     .package = "libopenblas0-pthread",
     .cores = kOpenBlasCores,
     .symbols = {"gotoblas", "openblas_", "scipy_openblas_"},
     .constant = "OPENBLAS_NUM_THREADS",
     .parts = {"gotoblas"},
     .message = {"OpenBLAS : ", "Program is Terminated"},
     // No program sets them and every OpenBLAS reads them (driver/others/openblas_env.c).
     .variables_of_its_own = {"OPENBLAS_BLOCK_FACTOR", "GOTO_NUM_THREADS"},
     .files = {"libopenblas"},
     .typed_kernels = {"gemm_kernel", "gemm_small", "gemm_direct", "gemm_incopy", "gemm_itcopy",
                       "gemm_oncopy", "gemm_otcopy", "gemm_beta"},
     .variables = {"OPENBLAS_", "GOTO_"},
     .core_variable = "OPENBLAS_CORETYPE",
     .in_one_file = true,
     // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64"
     .version_symbol = "openblas_get_config",
     .before_version = "OpenBLAS ",
     .core_symbol = "openblas_get_corename",
     .threads_symbol = "openblas_get_num_threads",
     .kernels_symbol = "openblas_get_config",
     .ask = ask_openblas,
     .chooser = "gotoblas",
     .core_tables = "gotoblas_",
     .kept = {"blas_cpu_number"},
     .read = read_openblas},
    {.name = "blis",
     .label = "BLIS",
     .cores = kBlisCores,
     .symbols = {"bli_"},
     .constant = "BLIS_ARCH_TYPE",
     .parts = {"bli_"},
     .message = {"libblis: ", "%s"},
     .files = {"libblis"},
     .kernels = {"bli_"},
     .variables = {"BLIS_"},
     .core_variable = "BLIS_ARCH_TYPE",
     .in_one_file = true,
     .version_symbol = "bli_info_get_version_str",
     .threads_symbol = "bli_thread_get_num_threads",
     .ask = ask_blis,
     .kept = {"bli_arch_query_id", "bli_arch_string", "bli_info_get_version_str"},
     .read = read_blis},
    {.name = "atlas",
     .label = "ATLAS",
     .symbols = {"ATL_"},
     .parts = {"ATL_sgemm"},
     .files = {"libsatlas", "libtatlas", "libf77blas"},
     .kernels = {"ATL_"},
     .variables = {"ATLAS_"},
     .kernels_symbol = "ATL_sgemm",
     .no_core = "the core of ATLAS is fixed when it is built"},
    {.name = "onednn",
     .label = "oneDNN",
     .is_blas = false,
     .parts = {"dnnl_primitive_", "mkldnn_primitive_"},
     .kernel_files = {"libdnnl", "libmkldnn"},
     .kernels = {"dnnl::", "jit_avx", "jit_brgemm", "jit_uni_", "jit_bnorm"},
     .no_core = "oneDNN generates its code for each shape at run time"},
    {.name = "eigen", .label = "Eigen", .is_blas = false, .kernels = {"Eigen::", "void Eigen::"}},
    {.name = "flexiblas",
     .label = "FlexiBLAS",
     .wraps = true,
     .symbols = {"flexiblas_"},
     .files = {"libflexiblas"},
     .variables = {"FLEXIBLAS"}},
    {.name = "libblastrampoline",
     .label = "libblastrampoline",
     .wraps = true,
     .symbols = {"lbt_"},
     .files = {"libblastrampoline"},
     .variables = {"LBT_"}},
    {.name = "armpl",
     .label = "Arm Performance Libraries",
     .symbols = {"armpl_"},
     .files = {"libarmpl"},
     .variables = {"ARMPL_"}},
    {.name = "nvpl",
     .label = "NVPL",
     .symbols = {"nvpl_blas_"},
     .files = {"libnvpl_blas"},
     .variables = {"NVPL_BLAS_"}},
};
static_assert(kProviders[static_cast<std::size_t>(Provider::kOpenBlas)].name == "openblas");
static_assert(kProviders[static_cast<std::size_t>(Provider::kEigen)].name == "eigen");

// Of no provider alone.
constexpr std::string_view kThreadVariables[] = {"OMP_", "KMP_", "GOMP_"};
constexpr std::string_view kBlasFiles[] = {"libblas.so", "libblas64"};
// Further ones, which are no choice of libblas.so.3: in wheels of numpy, R, GSL, on a Cray.
constexpr std::string_view kLibrariesOfBlas[] = {"libblas",           "libcblas", "liblapack",
                                                 "libscipy_openblas", "libRblas", "libRlapack",
                                                 "libgslcblas",       "libsci_",  "libessl"};

bool has(const std::vector<std::string>& isa, std::string_view name) {
  return std::find(isa.begin(), isa.end(), name) != isa.end();
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool any(const auto& matches) {
  return std::any_of(std::begin(kProviders), std::end(kProviders), matches);
}

}  // namespace

std::span<const ProviderFacts> all_providers() { return kProviders; }

const ProviderFacts& facts(Provider provider) {
  return kProviders[static_cast<std::size_t>(provider)];
}

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return !prefix.empty() && text.starts_with(prefix);
  });
}

Provider find_provider(const std::function<bool(const ProviderFacts&)>& matches) {
  for (const bool wraps : {true, false}) {
    for (const ProviderFacts& row : kProviders) {
      if (row.wraps == wraps && matches(row)) return static_cast<Provider>(&row - kProviders);
    }
  }
  return Provider::kNone;
}

Provider provider_of_symbol(std::string_view symbol) {
  const bool typed =
      !symbol.empty() && std::string_view("sdczbh").find(symbol[0]) != std::string_view::npos;
  return find_provider([&](const ProviderFacts& row) {
    return starts_with_any(symbol, row.kernels) ||
           (typed && starts_with_any(symbol.substr(1), row.typed_kernels));
  });
}

bool shapes_blas(std::string_view variable) {
  return starts_with_any(variable, kThreadVariables) ||
         any([&](const auto& row) { return starts_with_any(variable, row.variables); });
}

bool reads(Provider provider, std::string_view variable) {
  return facts(provider).wraps || provider == Provider::kUnknown ||
         starts_with_any(variable, facts(provider).variables);
}

bool counts_threads(std::string_view variable) {
  return variable.ends_with("_NUM_THREADS") || variable.ends_with("_THREAD_LIMIT");
}

bool forces_core(std::string_view variable) {
  return !variable.empty() && any([&](const auto& row) { return variable == row.core_variable; });
}

bool is_blas_file_name(std::string_view name) {
  return starts_with_any(name, kBlasFiles) ||
         any([&](const auto& row) { return starts_with_any(name, row.files); });
}

bool is_kernel_file_name(std::string_view name) {
  return any([&](const auto& row) { return starts_with_any(name, row.kernel_files); });
}

bool is_library_of_blas(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return is_blas_file_name(name) || is_kernel_file_name(name) ||
         starts_with_any(name, kLibrariesOfBlas);
}

std::string install_advice(bool root) {
  const Provider advised =
      find_provider([](const ProviderFacts& row) { return *row.package != '\0'; });
  return fmt::format("{}apt install {}", root ? "" : "sudo ", facts(advised).package);
}

std::string install_advice() { return install_advice(launched_by_root()); }

const CoreType* find_core_type(Provider provider, std::string_view name) {
  for (const CoreType& core : facts(provider).cores) {
    if (same_name(core.name, name)) return &core;
  }
  return nullptr;
}

bool can_run(const CoreType& core, const std::vector<std::string>& isa) {
  return std::all_of(core.needs.begin(), core.needs.end(),
                     [&](const char* need) { return need == nullptr || has(isa, need); });
}

VectorClass vector_class_of(Provider provider, std::string_view core) {
  const CoreType* found = find_core_type(provider, core);
  return found != nullptr ? found->vector_class : facts(provider).vector_class;
}

VectorClass widest_vector_class(const std::vector<std::string>& isa) {
  if (has(isa, "avx512f")) return kAvx512;
  if (has(isa, "avx2") && has(isa, "fma")) return kAvx2;
  if (has(isa, "avx")) return kAvx;
  return kBaseline;
}

}  // namespace hwprof::blas

namespace hwprof::report {

const std::string_view& name_of(const Provider& provider) { return blas::facts(provider).name; }

Provider provider_named(std::string_view name) {
  const Provider found =
      blas::find_provider([&](const blas::ProviderFacts& row) { return row.name == name; });
  return found == Provider::kNone && !name.empty() ? Provider::kUnknown : found;
}

}  // namespace hwprof::report
