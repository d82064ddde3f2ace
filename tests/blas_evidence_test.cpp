// Against the real libraries of this machine: OpenBLAS must be there, the reference may be.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "src/blas/evidence/libraries.h"
#include "src/blas/evidence/selected.h"
#include "src/blas/providers/core_types.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The libraries read their environment at load, once a process: the first test decides, so the
// environment is made before any.
class CleanEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    for (const auto& [name, value] : blas_environment()) ::unsetenv(name.c_str());
  }
};
const auto* const clean_environment =
    testing::AddGlobalTestEnvironment(new CleanEnvironment);  // gtest owns it

std::string installed_path(const std::string& provider) {
  for (const InstalledBlas& library : installed_blas()) {
    if (library.file.provider == provider) return library.path;
  }
  return "";
}

TEST(Libraries, ListsTheVariablesThatShapeABlasAndNoOthers) {
  ::setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  ::setenv("BLIS_ARCH_TYPE", "", 1);
  ::setenv("TOX_TESTENV_PASSENV", "OPENBLAS_*", 1);
  const auto environment = blas_environment();
  EXPECT_EQ(environment.at("OPENBLAS_CORETYPE"), "Haswell");
  EXPECT_EQ(environment.at("BLIS_ARCH_TYPE"), "");
  EXPECT_FALSE(environment.contains("TOX_TESTENV_PASSENV"));
  for (const char* name : {"OPENBLAS_CORETYPE", "BLIS_ARCH_TYPE", "TOX_TESTENV_PASSENV"}) {
    ::unsetenv(name);
  }
  EXPECT_FALSE(blas_environment().contains("OPENBLAS_CORETYPE"));
}

TEST(Libraries, FindsTheInstalledOpenBlasOnceAndNoGpuLibrary) {
  const auto installed = installed_blas();
  std::vector<std::string> paths;
  for (const InstalledBlas& library : installed) {
    paths.push_back(library.path);
    EXPECT_FALSE(library.how.empty()) << library.path;
    EXPECT_TRUE(fs::exists(library.path)) << library.path;
    EXPECT_THAT(library.path, Not(HasSubstr("nvblas")));
    EXPECT_FALSE(fs::is_symlink(library.path)) << library.path;
  }
  EXPECT_NE(installed_path("openblas"), "");
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(std::adjacent_find(paths.begin(), paths.end()), paths.end()) << "listed twice";
}

TEST(Libraries, LooksThroughTheLoaderPathFirst) {
  std::string made = testing::TempDir() + "hwprof_XXXXXX";
  ASSERT_NE(::mkdtemp(made.data()), nullptr);
  const fs::path folder = fs::canonical(made);
  fs::copy_file(FAKE_BLAS, folder / "libopenblas.so.0");
  ::setenv("LD_LIBRARY_PATH", ("/no/such/folder:" + folder.string()).c_str(), 1);
  const auto installed = installed_blas();
  ::unsetenv("LD_LIBRARY_PATH");
  fs::remove_all(folder);
  ASSERT_FALSE(installed.empty());
  EXPECT_EQ(installed.front().path, folder / "libopenblas.so.0");
  EXPECT_EQ(installed.front().how, "LD_LIBRARY_PATH libopenblas.so.0");
}

TEST(Libraries, TellsFilesApartBySymbolsAndNotByName) {
  EXPECT_FALSE(identify_file("/etc/passwd"));
  EXPECT_FALSE(identify_file("/no/such/file"));
  EXPECT_FALSE(identify_file("/proc/self/exe")) << "a program without sgemm_";
  const auto fake = identify_file(FAKE_BLAS);  // sgemm_ and nothing else, and libstdc++ below it
  ASSERT_TRUE(fake);
  EXPECT_THAT(fake->provider, ::testing::AnyOf("unknown", "reference"));
}

TEST(Libraries, LibraryThatHandsItsWorkToAGpuIsNone) { EXPECT_FALSE(identify_file(GPU_BLAS)); }

TEST(Libraries, KnowsWhichVariablesALibraryCanRead) {
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library);
  EXPECT_FALSE(file_mentions(library->path(), "OPENBLAS_NO_SUCH_VARIABLE"));
  ::setenv("OPENBLAS_NO_SUCH_VARIABLE", "1", 1);
  ::setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  const auto ignored = identify(*library).ignored;
  ::unsetenv("OPENBLAS_NO_SUCH_VARIABLE");
  ::unsetenv("OPENBLAS_CORETYPE");
  EXPECT_THAT(ignored, Contains("OPENBLAS_NO_SUCH_VARIABLE"));
  if (library->symbol("gotoblas") != nullptr) {
    EXPECT_THAT(ignored, Not(Contains("OPENBLAS_CORETYPE")));
  }
}

TEST(Selected, OpenBlasNamesItsVersionCoreAndThreads) {
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library);
  const Identity identity = identify(*library);
  EXPECT_EQ(identity.provider, "openblas");
  EXPECT_THAT(identity.version, StartsWith("0."));
  EXPECT_NE(identity.core, "");
  EXPECT_THAT(identity.threading, ::testing::AnyOf("pthreads", "openmp", "single-threaded"));
  EXPECT_GE(identity.threads.value_or(0), 1);
  ASSERT_TRUE(library->set_threads(1));
  EXPECT_EQ(identify(*library).threads, 1);
}

TEST(Selected, ReferenceIsTheReferenceWhileOpenBlasIsMapped) {
  const std::string path = installed_path("reference");
  if (path.empty()) GTEST_SKIP() << "libblas3 is not installed";
  // Worse than a program can have it: OpenBLAS comes first and its symbols are global.
  ASSERT_NE(::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_GLOBAL), nullptr);
  const auto library = BlasLibrary::load(path);
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_EQ(library->symbol("openblas_get_config"), nullptr);
  const Identity identity = identify(*library);
  EXPECT_EQ(identity.provider, "reference");
  EXPECT_EQ(identity.core, "");
  EXPECT_EQ(identity.version, "");
  EXPECT_EQ(identity.threads, 1);
  EXPECT_EQ(identity.kernels, path);
}

TEST(Selected, InterfaceOfOpenBlasNamesTheFileWithItsKernels) {
  for (const InstalledBlas& installed : installed_blas()) {
    if (installed.file.provider != "openblas" ||
        fs::path(installed.path).filename() != "libblas.so.3") {
      continue;
    }
    const auto library = BlasLibrary::load(installed.path);
    ASSERT_TRUE(library) << library.error().what;
    const Identity identity = identify(*library);
    EXPECT_EQ(identity.provider, "openblas");
    EXPECT_NE(identity.kernels, installed.path);
    EXPECT_THAT(identity.kernels, HasSubstr("libopenblas"));
    return;
  }
  GTEST_SKIP() << "no libblas.so.3 of OpenBLAS is installed";
}

TEST(CoreTypes, CoreOfTheLoadedOpenBlasIsInTheTable) {
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library);
  if (library->symbol("gotoblas") == nullptr) GTEST_SKIP() << "built for one CPU";
  const Identity identity = identify(*library);
  const CoreType* core = find_core_type("openblas", identity.core);
  ASSERT_NE(core, nullptr) << identity.core;
  EXPECT_NE(library->symbol(core->symbol), nullptr);
}

#if defined(__x86_64__)
TEST(CoreTypes, CpuDecidesWhatCanRun) {
  const CoreType* skylake = find_core_type("openblas", "skylakex");
  const CoreType* prescott = find_core_type("openblas", "Prescott");
  ASSERT_NE(skylake, nullptr);
  ASSERT_NE(prescott, nullptr);
  EXPECT_FALSE(can_run(*skylake, {"avx2", "fma"}));
  EXPECT_TRUE(can_run(*skylake, {"avx2", "fma", "avx512f"}));
  EXPECT_TRUE(can_run(*prescott, {}));
  EXPECT_EQ(vector_class_of("openblas", "Haswell"), "avx2");
  EXPECT_EQ(vector_class_of("blis", "generic"), "sse");
  EXPECT_EQ(vector_class_of("reference", ""), "scalar");
  EXPECT_EQ(vector_class_of("atlas", ""), "");
  EXPECT_EQ(vector_class_of("openblas", "Foo"), "");
  EXPECT_EQ(widest_vector_class({"avx", "avx2", "fma"}), "avx2");
  EXPECT_EQ(widest_vector_class({"avx", "avx2", "fma", "avx512f"}), "avx512");
  EXPECT_EQ(widest_vector_class({"sse2"}), "sse");
}
#endif

}  // namespace
}  // namespace hwprof::blas
