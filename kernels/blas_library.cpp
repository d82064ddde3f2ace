// Opening is where users get it wrong (a typing error, a linker script, a library that is none),
// so most of this file finds out what was wrong before the loader's own message would puzzle them.
#include "kernels/blas_library.h"

#include <ar.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

namespace hwprof {
namespace {

static_assert(std::endian::native == std::endian::little, "64-bit integers by address: see header");

// In the order in which the loader is asked; libblas.so.3 is what Debian's and Fedora's
// alternatives point to, the others are what a program may have been linked with directly.
constexpr std::array kDefaultSonames = {
    "libblas.so.3", "libopenblas.so.0",   "libflexiblas.so.3", "libblis.so.4",   "libmkl_rt.so.2",
    "libmkl_rt.so", "libopenblas64.so.0", "libblas64.so.3",    "libsatlas.so.3",
};

// How builds decorate Fortran names. "_64_" is the ILP64 convention of Julia and SciPy
// (github.com/OpenMathLib/OpenBLAS, SYMBOLPREFIX and SYMBOLSUFFIX).
struct Decoration {
  const char* prefix;
  const char* suffix;
};
constexpr std::array kDecorations = {
    Decoration{"", "_"},
    Decoration{"", "_64_"},
    Decoration{"scipy_", "_"},
    Decoration{"scipy_", "_64_"},
};

constexpr const char* kInstallHint = "install one: apt install libopenblas0-pthread";

#if defined(__x86_64__)
constexpr Elf64_Half kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kOwnMachine = EM_AARCH64;
#else
constexpr Elf64_Half kOwnMachine = EM_NONE;
#endif

std::string machine_name(Elf64_Half machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "arm64";
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit arm";
    default:
      return fmt::format("another architecture (ELF machine {})", machine);
  }
}

// Why the file cannot be a library of this machine; absent when nothing speaks against it.
std::optional<std::string> why_not_loadable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return fmt::format("cannot open {}: {}", path, std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return fmt::format("{} is a directory, not a library", path);
  if (!S_ISREG(status.st_mode)) return fmt::format("{} is not a regular file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fmt::format("cannot open {}: {}", path, std::strerror(errno));
  Elf64_Ehdr header{};  // e_machine stands at the same offset in 32-bit files
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  const auto got = static_cast<std::size_t>(file.gcount());
  if (got >= SARMAG && std::memcmp(&header, ARMAG, SARMAG) == 0) {
    return fmt::format("{} is a static archive; a shared library is needed", path);
  }
  if (got < offsetof(Elf64_Ehdr, e_version) || std::memcmp(&header, ELFMAG, SELFMAG) != 0) {
    return fmt::format("{} is not a shared library (not an ELF file)", path);
  }
  if (kOwnMachine != EM_NONE && header.e_machine != kOwnMachine) {
    return fmt::format("{} is built for {}, this program for {}", path,
                       machine_name(header.e_machine), machine_name(kOwnMachine));
  }
  return std::nullopt;
}

std::string resolved(const char* path) {
  std::array<char, PATH_MAX> buffer{};
  return ::realpath(path, buffer.data()) != nullptr ? buffer.data() : path;
}

char transposed(bool yes) { return yes ? 'T' : 'N'; }

}  // namespace

Result<BlasLibrary> BlasLibrary::load(const std::string& path_or_soname) {
  if (!path_or_soname.empty()) return open(path_or_soname, true);
  std::string tried;
  for (const char* soname : kDefaultSonames) {
    if (auto library = open(soname, true)) {
      library->requested_.clear();
      return library;
    }
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", soname);
  }
  return environment_error(0, "no BLAS is installed: the loader finds none of " + tried,
                           kInstallHint);
}

Result<BlasLibrary> BlasLibrary::load_what_served(const std::string& path) {
  return open(path, false);
}

Result<BlasLibrary> BlasLibrary::open(const std::string& path_or_soname, bool needs_products) {
  const bool is_path = path_or_soname.find('/') != std::string::npos;
  if (is_path) {
    if (const auto why = why_not_loadable(path_or_soname)) {
      return usage_error(*why, "--blas takes a shared library, such as libopenblas.so.0");
    }
  }
  BlasLibrary library;
  library.requested_ = path_or_soname;
  library.handle_ = ::dlopen(path_or_soname.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* text = ::dlerror();
    return usage_error(fmt::format("cannot load {}: {}", path_or_soname,
                                   text != nullptr ? text : "unknown reason"),
                       is_path ? "" : "for a file of the current folder write ./" + path_or_soname);
  }
  if (!library.bind()) {
    library.path_ = resolved(path_or_soname.c_str());
    if (!needs_products) return library;
    return usage_error(path_or_soname + " is not a BLAS: it has no sgemm_, dgemm_ and sgemv_",
                       "--blas takes a BLAS, such as libopenblas.so.0");
  }
  if (!library.multiplies()) {
    return usage_error(
        fmt::format("{} is not a usable BLAS: the sgemm_ of {} gets the product of "
                    "two small matrices wrong",
                    path_or_soname, library.path_));
  }
  return library;
}

// Finds the three functions, then narrows the handle to the file that holds sgemm_: a library that
// merely depends on a BLAS (a LAPACK) may depend on a second one, whose symbols prove nothing.
bool BlasLibrary::bind() {
  for (const auto& decoration : kDecorations) {
    const auto find = [&](const char* name) {
      return ::dlsym(handle_, (std::string(decoration.prefix) + name + decoration.suffix).c_str());
    };
    void* sgemm = find("sgemm");
    void* dgemm = find("dgemm");
    void* sgemv = find("sgemv");
    Dl_info info{};
    if (sgemm == nullptr || dgemm == nullptr || sgemv == nullptr || ::dladdr(sgemm, &info) == 0 ||
        info.dli_fname == nullptr) {
      continue;
    }
    sgemm_ = reinterpret_cast<Sgemm>(sgemm);
    dgemm_ = reinterpret_cast<Dgemm>(dgemm);
    sgemv_ = reinterpret_cast<Sgemv>(sgemv);
    prefix_ = decoration.prefix;
    suffix_ = decoration.suffix;
    path_ = resolved(info.dli_fname);
    if (void* server = ::dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
      handle_ = server;
    }
    return true;
  }
  return false;
}

// [3, 2] x [2, 2] into a poisoned C. It cannot crash where the program would not crash a moment
// later: the first timed call has the same arguments in the same places.
bool BlasLibrary::multiplies() const {
  constexpr std::array kA = {1.F, 2.F, 3.F, 4.F, 5.F, 6.F};
  constexpr std::array kB = {7.F, 8.F, 9.F, 10.F};
  constexpr std::array kProduct = {25.F, 28.F, 57.F, 64.F, 89.F, 100.F};
  std::array<float, 6> c{};
  c.fill(NAN);
  sgemm(false, false, 3, 2, 2, 1.F, kA.data(), 2, kB.data(), 2, 0.F, c.data(), 2);
  return c == kProduct;
}

// A row-major matrix read column by column is its transpose: C' = B' A' swaps the operands.
void BlasLibrary::sgemm(bool trans_a, bool trans_b, Int m, Int n, Int k, float alpha,
                        const float* a, Int lda, const float* b, Int ldb, float beta, float* c,
                        Int ldc) const {
  const char op_a = transposed(trans_a);
  const char op_b = transposed(trans_b);
  sgemm_(&op_b, &op_a, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc, 1, 1);
}

void BlasLibrary::dgemm(bool trans_a, bool trans_b, Int m, Int n, Int k, double alpha,
                        const double* a, Int lda, const double* b, Int ldb, double beta, double* c,
                        Int ldc) const {
  const char op_a = transposed(trans_a);
  const char op_b = transposed(trans_b);
  dgemm_(&op_b, &op_a, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc, 1, 1);
}

void BlasLibrary::sgemv(Int rows, Int cols, float alpha, const float* a, Int lda, const float* x,
                        float beta, float* y) const {
  const char op = 'T';
  const Int step = 1;
  sgemv_(&op, &cols, &rows, &alpha, a, &lda, x, &step, &beta, y, &step, 1);
}

bool BlasLibrary::set_threads(int count) const {
  for (const char* name :
       {"openblas_set_num_threads", "MKL_Set_Num_Threads", "flexiblas_set_num_threads"}) {
    if (void* address = symbol(name)) {
      reinterpret_cast<void (*)(int)>(address)(count);
      return true;
    }
  }
  if (void* address = symbol("bli_thread_set_num_threads")) {
    reinterpret_cast<void (*)(Int)>(address)(count);  // dim_t, 64 bits in every packaged build
    return true;
  }
  return false;
}

void* BlasLibrary::symbol(const std::string& name) const {
  // A function that is not Fortran has no underscore of its own: "_64_" is "64_" there.
  void* decorated = ::dlsym(handle_, (prefix_ + name + suffix_.substr(1)).c_str());
  return decorated != nullptr ? decorated : ::dlsym(handle_, name.c_str());
}

}  // namespace hwprof
