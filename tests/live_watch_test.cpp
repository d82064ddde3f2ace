// What a program declares and has loaded: against live processes with a library that looks like
// OpenBLAS.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "src/blas/evidence/installed.h"
#include "src/blas/evidence/loaded.h"
#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

// Copies, which no other test of this process has loaded: one test of the ladder loads all that it
// finds.
const std::string& copy_of(const std::string& library) {
  struct Copies {
    std::map<std::string, std::string> paths;
    ~Copies() {
      for (const auto& [original, path] : paths) ::unlink(path.c_str());
    }
  };
  static Copies copies;
  std::string& copy = copies.paths[library];
  if (copy.empty()) {
    copy = testing::TempDir() + "live-" + std::to_string(::getpid()) + "-" +
           std::filesystem::path(library).filename().string();
    std::filesystem::copy_file(library, copy, std::filesystem::copy_options::overwrite_existing);
  }
  return copy;
}

// Of the two libraries that are made for this: other tests of this process may have loaded real
// ones.
std::vector<report::ChosenCore> chosen_in(const LiveWatch& watch) {
  std::vector<report::ChosenCore> all = watch.chosen_cores();
  std::erase_if(all, [](const report::ChosenCore& one) {
    return one.path != copy_of(FAKE_OPENBLAS) && one.path != copy_of(FAKE_OPENBLAS_UNSET);
  });
  return all;
}

void poll_past_the_pause(LiveWatch& watch) {
  ::usleep(210'000);
  watch.poll();
}

// What a watch finds is a question of moments: the size of a process tells that it has mapped
// something, and where it gave back as much since the last look, its maps are read later.
void poll_until_chosen(LiveWatch& watch, std::size_t cores) {
  for (int looks = 0; looks < 50 && chosen_in(watch).size() != cores; ++looks) {
    poll_past_the_pause(watch);
  }
}

TEST(LiveWatch, ReadsTheChoiceOfAProcessAndKeepsItAfterTheEnd) {
  Holder child(copy_of(FAKE_OPENBLAS).c_str());
  LiveWatch watch(child.pid());
  watch.poll();
  const auto check = [&] {
    EXPECT_THAT(watch.loaded(),
                Contains(Field(&report::LoadedLibrary::path, copy_of(FAKE_OPENBLAS))));
    const auto chosen = chosen_in(watch);
    ASSERT_EQ(chosen.size(), 1U);
    EXPECT_EQ(chosen[0].core, "Prescott");
    EXPECT_EQ(chosen[0].threads, 3);
    EXPECT_EQ(chosen[0].version, "0.3.99");
    EXPECT_THAT(chosen[0].how, StartsWith("gotoblas pointer of process "));
    EXPECT_EQ(chosen[0].reason, "");
  };
  check();
  child.finish();
  poll_past_the_pause(watch);
  check();
}

TEST(LiveWatch, SaysThatALibraryIsNotInitialised) {
  Holder child(copy_of(FAKE_OPENBLAS_UNSET).c_str());
  LiveWatch watch(child.pid());
  watch.poll();
  ASSERT_EQ(chosen_in(watch).size(), 1U);
  EXPECT_EQ(chosen_in(watch)[0].core, "");
  EXPECT_THAT(chosen_in(watch)[0].reason, HasSubstr("not initialised"));
}

TEST(LiveWatch, FindsLibrariesThatAreLoadedLaterAndInChildren) {
  LiveWatch watch(::getpid());
  watch.poll();
  EXPECT_TRUE(chosen_in(watch).empty());
  Holder child(copy_of(FAKE_OPENBLAS).c_str());
  poll_until_chosen(watch, 1);
  ASSERT_EQ(chosen_in(watch).size(), 1U) << "in a child";
  void* library = ::dlopen(copy_of(FAKE_OPENBLAS_UNSET).c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  poll_until_chosen(watch, 2);
  ::dlclose(library);
  EXPECT_EQ(chosen_in(watch).size(), 2U) << "in a process that is known";
}

TEST(LiveWatch, AProcessThatDoesNotExistLeavesNothing) {
  LiveWatch watch(1 << 30);
  watch.poll();
  EXPECT_TRUE(watch.loaded().empty());
  EXPECT_TRUE(watch.chosen_cores().empty());
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
  EXPECT_EQ(loaded[0].provider, Provider::kOpenBlas);
  EXPECT_TRUE(loaded[0].serves_blas);
}

TEST(LiveWatch, ALibraryThatServedABlasRoutineIsABlasWhateverItsName) {
  report::Called called;
  report::CallSite& site = called.calls.emplace_back();
  site.symbol = "dgemm_";
  site.library = OWN_PRODUCT;
  std::vector<report::LoadedLibrary> loaded;
  add_called_libraries(called, loaded);
  ASSERT_EQ(loaded.size(), 1U);
  EXPECT_EQ(loaded[0].provider, Provider::kUnknown);
  EXPECT_EQ(loaded[0].soname, "libown_product.so");
  EXPECT_TRUE(loaded[0].serves_blas);

  loaded.clear();
  site.symbol = "dnnl_sgemm";  // a product, but none of a BLAS
  add_called_libraries(called, loaded);
  EXPECT_TRUE(loaded.empty());
}

TEST(LiveWatch, SaysWhoseMapsItMayNotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read all";
  LiveWatch watch(1);
  watch.poll();
  ASSERT_EQ(watch.chosen_cores().size(), 1U);
  EXPECT_EQ(watch.chosen_cores()[0].provider, Provider::kNone);
  EXPECT_THAT(watch.chosen_cores()[0].reason, HasSubstr("ermission denied"));
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
