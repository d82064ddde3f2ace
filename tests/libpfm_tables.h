// libpfm4 chooses the tables of the CPU that it runs on, once a process. A test that asks it for an
// event would pass on one machine and fail on another: here it says which tables it means.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace hwprof {

// The kernel's generic events, and whatever the machine has beside them.
inline constexpr const char* kGenericTables = "";
// Every table there is, each under its prefix ("spr::INST_RETIRED").
inline constexpr const char* kAllTables = "all";

// In a process of its own, started anew, so that nobody has asked libpfm4 anything yet. `tables`:
// what libpfm4 calls a CPU (showevtinfo -L; "icl", "skx", "amd64_fam17h_zen2"), whose events are
// then the only ones, or one of the above. What stands before in the test runs there, too: nothing
// that asks libpfm4.
template <class Check>
[[noreturn]] void check_with_tables(const char* tables, Check check) {
  unsetenv("LIBPFM_FORCE_PMU");
  unsetenv("LIBPFM_ENCODE_INACTIVE");
  if (tables == kAllTables)
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
  else if (tables != kGenericTables)
    setenv("LIBPFM_FORCE_PMU", tables, 1);
  check();
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace hwprof

#define EXPECT_WITH_TABLES(tables, ...)                                                 \
  do {                                                                                  \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                                     \
    EXPECT_EXIT(check_with_tables(tables, __VA_ARGS__), testing::ExitedWithCode(0), "") \
        << "with libpfm4's tables of '" << (tables) << "'";                             \
  } while (false)
