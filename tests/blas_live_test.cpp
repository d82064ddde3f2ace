// E1 and E2 of live processes: this one and children of it, with a library that looks like OpenBLAS
// and, where one is installed, with the real one.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "src/blas/evidence/core_in_memory.h"
#include "src/blas/evidence/declared.h"
#include "src/blas/evidence/live.h"
#include "src/blas/evidence/mapped_file.h"
#include "src/blas/evidence/process_maps.h"

namespace hwprof::blas {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ProcessMaps, FindsEachFileOnceWhereItsFirstMappingLies) {
  const auto files = executable_files(
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
  EXPECT_EQ(files[0].inode, 77U);
  EXPECT_FALSE(files[0].deleted);
  EXPECT_EQ(files[1].path, "/tmp/a b\nc");
  EXPECT_TRUE(files[1].deleted);
}

TEST(MappedFile, NamesAreTheSameWhateverTheBuild) {
  EXPECT_EQ(plain_symbol("gotoblas"), "gotoblas");
  EXPECT_EQ(plain_symbol("scipy_gotoblas64_"), "gotoblas");
  EXPECT_EQ(plain_symbol("gotoblas_HASWELL64_"), "gotoblas_HASWELL");
  EXPECT_EQ(plain_symbol("sgemm_"), "sgemm_");
  EXPECT_EQ(plain_symbol("sgemm_64_"), "sgemm_");
  EXPECT_EQ(plain_symbol("scipy_sgemm_64_"), "sgemm_");
}

TEST(MappedFile, TellsABlasFromOtherFiles) {
  const auto file = inspect_mapped_file(FAKE_OPENBLAS, false);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->provider, "openblas");
  EXPECT_EQ(file->version, "0.3.99");
  EXPECT_TRUE(file->serves_blas);
  EXPECT_FALSE(file->hands_on);
  EXPECT_EQ(file->core_tables.size(), 2U);  // gotoblas_init is a function
  EXPECT_FALSE(inspect_mapped_file("/proc/self/exe", false));
  EXPECT_FALSE(inspect_mapped_file("/etc/passwd", true));
  EXPECT_FALSE(inspect_mapped_file("/no/such/file", true));
}

TEST(CoreInMemory, ReadsMklByTheNameOfItsKernels) {
  EXPECT_EQ(mkl_kernels("/opt/libmkl_avx2.so.1"), "avx2");
  EXPECT_EQ(mkl_kernels("/opt/libmkl_avx512.so"), "avx512");
  EXPECT_EQ(mkl_kernels("/opt/libmkl_def.so"), "def");
  EXPECT_EQ(mkl_kernels("/opt/libmkl_core.so"), "");
  EXPECT_EQ(mkl_kernels("/opt/libavx2.so"), "");
}

TEST(CoreInMemory, ABlasWithoutAChoiceHasAReason) {
  const ReadMemory never = [](std::uint64_t, void*, std::size_t) { return false; };
  for (const char* provider : {"reference", "atlas", "onednn", "blis", "openblas", "mkl", "x"}) {
    MappedFile file;
    file.provider = provider;
    const auto core = core_in_memory(file, "/lib/x.so", 0, never, "process 1");
    EXPECT_EQ(core.selected.core, "") << provider;
    EXPECT_NE(core.selected.reason, "") << provider;
    EXPECT_EQ(core.selected.how, "") << provider;
  }
}

// A child that holds `library` until it is told to end.
class Holder {
 public:
  explicit Holder(const char* library) {
    int ready[2] = {}, end[2] = {};
    EXPECT_EQ(::pipe(ready), 0);
    EXPECT_EQ(::pipe(end), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(end[1]);
      const bool loaded = library == nullptr || ::dlopen(library, RTLD_NOW) != nullptr;
      char byte = loaded ? 'y' : 'n';
      const bool told = ::write(ready[1], &byte, 1) == 1 && ::read(end[0], &byte, 1) >= 0;
      ::_exit(told ? 0 : 1);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y') << library;
    for (const int fd : {ready[0], ready[1], end[0]}) ::close(fd);
    end_ = end[1];
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { finish(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void finish() {
    if (pid_ == 0) return;
    ::close(end_);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int end_ = -1;
};

void poll_past_the_pause(LiveWatch& watch) {
  ::usleep(210'000);
  watch.poll();
}

TEST(LiveWatch, ReadsTheChoiceOfAProcessAndKeepsItAfterTheEnd) {
  Holder child(FAKE_OPENBLAS);
  LiveWatch watch(child.pid());
  watch.poll();
  const auto check = [&] {
    EXPECT_THAT(watch.loaded(), Contains(Field(&report::LoadedLibrary::path, FAKE_OPENBLAS)));
    const auto selected = watch.selected();
    ASSERT_EQ(selected.size(), 1U);
    EXPECT_EQ(selected[0].core, "Prescott");
    EXPECT_EQ(selected[0].threads, 3);
    EXPECT_EQ(selected[0].version, "0.3.99");
    EXPECT_THAT(selected[0].how, StartsWith("gotoblas pointer of process "));
    EXPECT_EQ(selected[0].reason, "");
  };
  check();
  child.finish();
  poll_past_the_pause(watch);
  check();
}

TEST(LiveWatch, SaysThatALibraryIsNotInitialised) {
  Holder child(FAKE_OPENBLAS_UNSET);
  LiveWatch watch(child.pid());
  watch.poll();
  ASSERT_EQ(watch.selected().size(), 1U);
  EXPECT_EQ(watch.selected()[0].core, "");
  EXPECT_THAT(watch.selected()[0].reason, HasSubstr("not initialised"));
}

TEST(LiveWatch, FindsLibrariesThatAreLoadedLaterAndInChildren) {
  LiveWatch watch(::getpid());
  watch.poll();
  EXPECT_TRUE(watch.selected().empty());
  Holder child(FAKE_OPENBLAS);
  poll_past_the_pause(watch);
  ASSERT_EQ(watch.selected().size(), 1U) << "in a child";
  void* library = ::dlopen(FAKE_OPENBLAS_UNSET, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  poll_past_the_pause(watch);
  ::dlclose(library);
  EXPECT_EQ(watch.selected().size(), 2U) << "in a process that is known";
}

TEST(LiveWatch, AProcessThatDoesNotExistLeavesNothing) {
  LiveWatch watch(1 << 30);
  watch.poll();
  EXPECT_TRUE(watch.loaded().empty());
  EXPECT_TRUE(watch.selected().empty());
}

TEST(LiveWatch, ALibraryThatServedCallsWasLoaded) {
  report::Called called;
  for (const char* path : {FAKE_OPENBLAS, "/no/such/library.so", FAKE_OPENBLAS}) {
    called.calls.emplace_back().library = path;
  }
  std::vector<report::LoadedLibrary> loaded;
  add_called_libraries(called, loaded);
  ASSERT_EQ(loaded.size(), 1U);
  EXPECT_EQ(loaded[0].path, FAKE_OPENBLAS);
  EXPECT_EQ(loaded[0].provider, "openblas");
  EXPECT_TRUE(loaded[0].serves_blas);
}

TEST(LiveWatch, SaysWhoseMapsItMayNotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read all";
  LiveWatch watch(1);
  watch.poll();
  ASSERT_EQ(watch.selected().size(), 1U);
  EXPECT_EQ(watch.selected()[0].provider, "");
  EXPECT_THAT(watch.selected()[0].reason, HasSubstr("ermission denied"));
}

TEST(Declared, NamesTheSonamesThatAProgramNeeds) {
  const auto said = declared({FAKE_OPENBLAS});
  EXPECT_TRUE(said.needed.empty());
  ::setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  EXPECT_EQ(declared({"no-such-program"}).environment.at("OPENBLAS_CORETYPE"), "Haswell");
  ::unsetenv("OPENBLAS_CORETYPE");
  EXPECT_TRUE(declared({}).needed.empty());
  const auto needs = declared({NEEDS_OPENBLAS}).needed;
  EXPECT_THAT(needs, Contains("libopenblas_fake.so"));
}

}  // namespace
}  // namespace hwprof::blas
