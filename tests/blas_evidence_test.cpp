// What is installed, and what a library says of itself: against the real ones of this machine
// (OpenBLAS must be there, the reference may be), and against some that are made up.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/evidence/library_file.h"
#include "src/blas/evidence/own_openblas.h"
#include "src/blas/providers/providers.h"
#include "src/observe/proc/maps.h"
#include "tests/temporary_file.h"

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

std::string installed_path(Provider provider) {
  for (const report::InstalledBlas& library : installed_blas()) {
    if (library.provider == provider) return library.path;
  }
  return "";
}

report::ChosenCore chosen(const char* path, report::Provider provider, const char* core) {
  report::ChosenCore chosen;
  chosen.path = path;
  chosen.provider = provider;
  chosen.core = core;
  return chosen;
}

TEST(CoreBehind, ALibraryIsWhatItSaysElseWhatAllOfItsProviderSay) {
  using enum report::Provider;
  const auto name = [](const std::vector<report::ChosenCore>& cores, const char* path) {
    const report::ChosenCore* core = core_behind(cores, path, kOpenBlas);
    return core != nullptr ? core->core : "not known";
  };
  const std::vector<report::ChosenCore> alone = {chosen("/libblas.so.3", kOpenBlas, ""),
                                                 chosen("/libopenblas.so.0", kOpenBlas, "Zen"),
                                                 chosen("/libblis.so.4", kBlis, "zen3")};
  EXPECT_EQ(name(alone, "/libopenblas.so.0"), "Zen");
  EXPECT_EQ(name(alone, "/libblas.so.3"), "Zen");
  EXPECT_EQ(name(alone, "/other.so"), "Zen");
  std::vector<report::ChosenCore> two = alone;
  two.push_back(chosen("/numpy/libopenblas64.so", kOpenBlas, "Haswell"));
  EXPECT_EQ(name(two, "/libopenblas.so.0"), "Zen");
  EXPECT_EQ(name(two, "/libblas.so.3"), "");
  EXPECT_EQ(name(two, "/other.so"), "not known");
}

TEST(OwnOpenBlas, IsTheFirstThatIsThereAndThatNobodyElseCanChange) {
  const TemporaryFile file("a library");
  const OwnOpenBlas own = own_openblas({"/no/such/libopenblas.so.0", file.path()});
  EXPECT_EQ(own.path, fs::canonical(file.path()));
  EXPECT_EQ(own.reason, "");
  fs::permissions(file.path(), fs::perms::others_write, fs::perm_options::add);
  const OwnOpenBlas refused = own_openblas({file.path()});
  EXPECT_EQ(refused.path, "");
  EXPECT_THAT(refused.reason, HasSubstr("other users can write"));
  EXPECT_THAT(own_openblas({"/no/such/libopenblas.so.0"}).reason, HasSubstr(install_advice()));
}

TEST(Libraries, KnowTheEnvironmentThatAProcessWasStartedWith) {
  int ready[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // The program keeps the pipe open as its standard output: its end says that it has begun.
    ::dup2(ready[1], STDOUT_FILENO);
    const char* arguments[] = {"sh", "-c", "echo; kill -STOP $$; :", nullptr};
    const char* variables[] = {"OPENBLAS_CORETYPE=Nehalem", "PATH=/usr/bin:/bin", nullptr};
    ::execve("/bin/sh", const_cast<char**>(arguments), const_cast<char**>(variables));
    ::_exit(127);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const report::Declared said = declared_of(child);
  EXPECT_EQ(said.environment.size(), 1U);
  EXPECT_EQ(said.environment.at("OPENBLAS_CORETYPE"), "Nehalem");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_THAT(declared_of(child).environment_reason, HasSubstr("is not readable"));
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
  for (const report::InstalledBlas& library : installed) {
    paths.push_back(library.path);
    EXPECT_FALSE(library.how.empty()) << library.path;
    EXPECT_TRUE(fs::exists(library.path)) << library.path;
    EXPECT_THAT(library.path, Not(HasSubstr("nvblas")));
    EXPECT_FALSE(fs::is_symlink(library.path)) << library.path;
  }
  EXPECT_NE(installed_path(Provider::kOpenBlas), "");
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
  EXPECT_THAT(fake->provider, ::testing::AnyOf(Provider::kUnknown, Provider::kReference));
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
  EXPECT_EQ(identity.provider, Provider::kOpenBlas);
  EXPECT_THAT(identity.version, StartsWith("0."));
  EXPECT_NE(identity.core, "");
  EXPECT_THAT(identity.threading, ::testing::AnyOf("pthreads", "openmp", "single-threaded"));
  EXPECT_GE(identity.threads.value_or(0), 1);
  ASSERT_TRUE(library->set_threads(1));
  EXPECT_EQ(identify(*library).threads, 1);
}

TEST(Selected, ReferenceIsTheReferenceWhileOpenBlasIsMapped) {
  const std::string path = installed_path(Provider::kReference);
  if (path.empty()) GTEST_SKIP() << "libblas3 is not installed";
  // Worse than a program can have it: OpenBLAS comes first and its symbols are global.
  ASSERT_NE(::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_GLOBAL), nullptr);
  const auto library = BlasLibrary::load(path);
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_EQ(library->symbol("openblas_get_config"), nullptr);
  const Identity identity = identify(*library);
  EXPECT_EQ(identity.provider, Provider::kReference);
  EXPECT_EQ(identity.core, "");
  EXPECT_EQ(identity.version, "");
  EXPECT_EQ(identity.threads, 1);
  EXPECT_EQ(identity.kernels, path);
}

TEST(Selected, InterfaceOfOpenBlasNamesTheFileWithItsKernels) {
  for (const report::InstalledBlas& installed : installed_blas()) {
    if (installed.provider != Provider::kOpenBlas ||
        fs::path(installed.path).filename() != "libblas.so.3") {
      continue;
    }
    const auto library = BlasLibrary::load(installed.path);
    ASSERT_TRUE(library) << library.error().what;
    const Identity identity = identify(*library);
    EXPECT_EQ(identity.provider, Provider::kOpenBlas);
    EXPECT_NE(identity.kernels, installed.path);
    EXPECT_THAT(identity.kernels, HasSubstr("libopenblas"));
    return;
  }
  GTEST_SKIP() << "no libblas.so.3 of OpenBLAS is installed";
}

// The table of providers: what the code leans on, and that names are nowhere twice.
TEST(Providers, EachRowIsFoundByItsName) {
  for (std::size_t i = 0; i < all_providers().size(); ++i) {
    const auto provider = static_cast<Provider>(i);
    EXPECT_EQ(report::provider_named(to_text(provider)), provider) << to_text(provider);
    EXPECT_EQ(facts(provider).label.empty(), provider == Provider::kNone) << to_text(provider);
  }
  EXPECT_EQ(report::provider_named("no-such-maker"), Provider::kUnknown);
  EXPECT_EQ(to_text(Provider::kOneDnn), "onednn");
  EXPECT_EQ(to_text(Provider::kReference), "reference");
}

TEST(Providers, AdviseRootWithoutSudo) {
  EXPECT_EQ(install_advice(false), "sudo apt install libopenblas0-pthread");
  EXPECT_EQ(install_advice(true), "apt install libopenblas0-pthread");
}

TEST(Providers, KnowTheirVariablesAndFiles) {
  for (const char* name : {"OPENBLAS_CORETYPE", "GOTO_NUM_THREADS", "BLIS_ARCH_TYPE", "MKL_X",
                           "OMP_NUM_THREADS", "FLEXIBLAS", "LBT_DEFAULT_LIBS", "NVPL_BLAS_X"}) {
    EXPECT_TRUE(shapes_blas(name)) << name;
  }
  EXPECT_FALSE(shapes_blas("PATH"));
  EXPECT_TRUE(forces_core("BLIS_ARCH_TYPE"));
  EXPECT_FALSE(forces_core("OPENBLAS_NUM_THREADS"));
  EXPECT_FALSE(forces_core(""));
  EXPECT_TRUE(is_blas_file_name("libblas.so.3"));
  EXPECT_TRUE(is_blas_file_name("libopenblas64.so.0"));
  EXPECT_FALSE(is_blas_file_name("libcblas.so.3"));
  EXPECT_TRUE(is_kernel_file_name("libdnnl.so.2"));
}

// A cache as glibc writes it: an older layout may stand before it.
std::string made_cache(std::uint32_t entries_said) {
  const std::string texts("libblas.so.3\0/usr/lib/libblas.so.3\0no-path\0", 43);
  std::string bytes = "glibc-ld.so.cache1.1";
  const auto add = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::uint32_t word : {entries_said, 43U, 0U, 0U, 0U, 0U, 0U}) add(word);
  constexpr std::uint32_t kTexts = 48 + 2 * 24;
  for (const std::uint32_t path : {kTexts + 13, kTexts + 35}) {
    for (const std::uint32_t word : {1U, kTexts, path, 0U}) add(word);
    add(std::uint64_t{0});
  }
  return "ld.so-1.7.0 and more" + bytes + texts;
}

TEST(LoaderCache, IsReadWithoutAProgram) {
  const LoaderCache cache = parse_loader_cache(made_cache(2));
  ASSERT_EQ(cache.size(), 1U) << "an entry without a path is none";
  EXPECT_EQ(cache[0].first, "libblas.so.3");
  EXPECT_EQ(cache[0].second, "/usr/lib/libblas.so.3");
}

TEST(LoaderCache, BrokenOneIsEmptyOrShorter) {
  EXPECT_TRUE(parse_loader_cache("").empty());
  EXPECT_TRUE(parse_loader_cache("glibc-ld.so.cache1.1").empty());
  EXPECT_TRUE(parse_loader_cache("no cache").empty());
  const std::string whole = made_cache(4'000'000'000U);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_LE(parse_loader_cache(whole.substr(0, size)).size(), 1U);
  }
}

TEST(LoaderCache, HasTheSonamesOfThisMachine) {
  if (!fs::exists("/etc/ld.so.cache")) GTEST_SKIP() << "this loader keeps no cache";
  EXPECT_FALSE(loader_cache().empty());
  for (const auto& [soname, path] : loader_cache()) EXPECT_THAT(path, StartsWith("/")) << soname;
}

TEST(CoreTypes, CoreOfTheLoadedOpenBlasIsInTheTable) {
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library);
  if (library->symbol("gotoblas") == nullptr) GTEST_SKIP() << "built for one CPU";
  const Identity identity = identify(*library);
  const CoreType* core = find_core_type(Provider::kOpenBlas, identity.core);
  ASSERT_NE(core, nullptr) << identity.core;
  EXPECT_NE(library->symbol(core->symbol), nullptr);
}

#if defined(__x86_64__)
TEST(CoreTypes, CpuDecidesWhatCanRun) {
  const CoreType* skylake = find_core_type(Provider::kOpenBlas, "skylakex");
  const CoreType* prescott = find_core_type(Provider::kOpenBlas, "Prescott");
  ASSERT_NE(skylake, nullptr);
  ASSERT_NE(prescott, nullptr);
  EXPECT_FALSE(can_run(*skylake, {"avx2", "fma"}));
  EXPECT_TRUE(can_run(*skylake, {"avx2", "fma", "avx512f"}));
  EXPECT_TRUE(can_run(*prescott, {}));
  EXPECT_EQ(vector_class_of(Provider::kOpenBlas, "Haswell"), VectorClass::kAvx2);
  EXPECT_EQ(vector_class_of(Provider::kBlis, "generic"), VectorClass::kSse);
  EXPECT_EQ(vector_class_of(Provider::kReference, ""), VectorClass::kScalar);
  EXPECT_EQ(vector_class_of(Provider::kAtlas, ""), VectorClass::kNone);
  EXPECT_EQ(vector_class_of(Provider::kOpenBlas, "Foo"), VectorClass::kNone);
  EXPECT_EQ(widest_vector_class({"avx", "avx2", "fma"}), VectorClass::kAvx2);
  EXPECT_EQ(widest_vector_class({"avx", "avx2", "fma", "avx512f"}), VectorClass::kAvx512);
  EXPECT_EQ(widest_vector_class({"sse2"}), VectorClass::kSse);
}
#endif

TEST(ProcessMaps, FindsEachFileOnceWhereItsFirstMappingLies) {
  const auto files = observe::executable_files(
      "7f0000000000-7f0000001000 r--p 00000000 fe:00 77                 /usr/lib/libblas.so.3\n"
      "7f0000001000-7f0000003000 r-xp 00001000 fe:00 77                 /usr/lib/libblas.so.3\n"
      "7f0000004000-7f0000005000 rw-p 00000000 00:00 0 \n"
      "7f0000005000-7f0000006000 r--p 00000000 fe:00 78                 /usr/share/data\n"
      "7f0000006000-7f0000007000 r-xp 00000000 fe:00 79                 /tmp/a b\\012c (deleted)\n"
      "7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                  [vdso]\n"
      "broken line\n");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "/usr/lib/libblas.so.3");
  EXPECT_EQ(files[0].start, 0x7f0000000000U);
  EXPECT_EQ(files[0].file, (observe::FileId{0xfe, 0, 77}));
  EXPECT_FALSE(files[0].deleted);
  EXPECT_EQ(files[1].path, "/tmp/a b\nc");
  EXPECT_TRUE(files[1].deleted);
}

TEST(LibraryFile, NamesAreTheSameWhateverTheBuild) {
  EXPECT_EQ(plain_symbol("gotoblas"), "gotoblas");
  EXPECT_EQ(plain_symbol("scipy_gotoblas64_"), "gotoblas");
  EXPECT_EQ(plain_symbol("gotoblas_HASWELL64_"), "gotoblas_HASWELL");
  EXPECT_EQ(plain_symbol("sgemm_"), "sgemm_");
  EXPECT_EQ(plain_symbol("sgemm_64_"), "sgemm_");
  EXPECT_EQ(plain_symbol("scipy_sgemm_64_"), "sgemm_");
}

TEST(LibraryFile, TellsABlasFromOtherFiles) {
  const auto file = inspect_file(FAKE_OPENBLAS, false);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->provider, Provider::kOpenBlas);
  EXPECT_EQ(file->version, "0.3.99");
  EXPECT_TRUE(file->serves_blas);
  EXPECT_FALSE(file->hands_on);
  EXPECT_EQ(file->core_tables.size(), 2U);  // gotoblas_init is a function
  EXPECT_FALSE(inspect_file("/proc/self/exe", false));
  EXPECT_FALSE(inspect_file("/etc/passwd", true));
  EXPECT_FALSE(inspect_file("/no/such/file", true));
}

report::ChosenCore core_in(Provider provider, const std::string& path) {
  const ReadMemory never = [](std::uint64_t, void*, std::size_t) { return false; };
  LibraryFile file;
  file.provider = provider;
  return core_in_memory(file, path, 0, never, "process 1");
}

TEST(CoreInMemory, ReadsMklByTheNameOfItsKernels) {
  const auto mkl = [](const char* path) { return core_in(Provider::kMkl, path); };
  EXPECT_EQ(mkl("/opt/libmkl_avx2.so.1").core, "avx2");
  EXPECT_EQ(mkl("/opt/libmkl_avx2.so.1").vector_class, VectorClass::kAvx2);
  EXPECT_EQ(mkl("/opt/libmkl_avx512.so").core, "avx512");
  EXPECT_EQ(mkl("/opt/libmkl_def.so").core, "def");
  EXPECT_EQ(mkl("/opt/libmkl_def.so").vector_class, VectorClass::kSse);
  EXPECT_EQ(mkl("/opt/libmkl_core.so").core, "");
  EXPECT_EQ(mkl("/opt/libavx2.so").core, "");
}

// Whatever the table has a row for.
TEST(CoreInMemory, ABlasWithoutAChoiceHasAReason) {
  for (std::size_t i = 0; i < all_providers().size(); ++i) {
    const auto core = core_in(static_cast<Provider>(i), "/lib/x.so");
    EXPECT_EQ(core.core, "") << all_providers()[i].name;
    EXPECT_NE(core.reason, "") << all_providers()[i].name;
    EXPECT_EQ(core.how, "") << all_providers()[i].name;
  }
}

#if defined(__x86_64__)
// A process whose bli_arch_query_id and bli_arch_string are as BLIS compiles them, and whose one
// architecture has this name.
report::ChosenCore core_of_blis(const char* architecture) {
  std::array<char, 256> image{};
  const auto put = [&image](std::size_t at, const auto& value) {
    std::memcpy(image.data() + at, &value, sizeof value);
  };
  constexpr std::size_t kQuery = 0, kString = 64, kId = 128, kTable = 136, kName = 144;
  std::memcpy(image.data() + kQuery, "\x8b\x05", 2);
  put(kQuery + 2, static_cast<std::int32_t>(kId - kQuery - 6));
  std::memcpy(image.data() + kString, "\x48\x8d\x05", 3);
  put(kString + 3, static_cast<std::int32_t>(kTable - kString - 7));
  put(kTable, std::uint64_t{kName});
  std::memcpy(image.data() + kName, architecture, std::strlen(architecture));
  LibraryFile file;
  file.provider = Provider::kBlis;
  file.symbols = {{"bli_arch_query_id", kQuery}, {"bli_arch_string", kString}};
  const ReadMemory read = [&image](std::uint64_t address, void* to, std::size_t bytes) {
    if (address > image.size() || image.size() - address < bytes) return false;
    std::memcpy(to, image.data() + address, bytes);
    return true;
  };
  return core_in_memory(file, "/lib/libblis.so.4", 0, read, "process 1");
}

TEST(CoreInMemory, ReadsTheNameThatBlisHas) {
  EXPECT_EQ(core_of_blis("haswell").core, "haswell");
  EXPECT_NE(core_of_blis("haswell").how, "");
}

TEST(CoreInMemory, ABlisWithoutANameHasAReason) {
  EXPECT_EQ(core_of_blis("").core, "");
  EXPECT_EQ(core_of_blis("").reason, "the name of its architecture cannot be read");
  EXPECT_EQ(core_of_blis("").how, "");
}
#endif

}  // namespace
}  // namespace hwprof::blas
