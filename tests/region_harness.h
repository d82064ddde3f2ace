// Regions are set up once a process: each test takes a process of its own, which this makes, and
// looks at the JSON report.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "counters/regions/region.h"

namespace hwprof {

using Json = nlohmann::json;

// Failed expectations in the child fail the caller. Without HWPROF_ variables of the outside.
inline void in_child(const std::function<void()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    unsetenv("HWPROF_EVENTS");
    unsetenv("HWPROF_REGIONS");
    unsetenv("HWPROF_CLOCK");
    work();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

// In and out.
inline void pass(const char* name) { const Region region(name); }

inline Json report() { return Json::parse(regions_json()); }

// The row of a path; null: there is none.
inline Json row(const Json& report, const std::vector<std::string>& path) {
  for (const Json& row : report["regions"])
    if (row["path"] == path) return row;
  return nullptr;
}

// What the rows directly below `path` add up to.
inline double sum_below(const Json& report, const std::vector<std::string>& path,
                        const std::function<double(const Json&)>& value) {
  double sum = 0;
  for (const Json& row : report["regions"]) {
    auto above = row["path"].get<std::vector<std::string>>();
    above.pop_back();
    if (above == path) sum += value(row);
  }
  return sum;
}

inline bool is_counted(const Json& report, const std::string& event) {
  for (const Json& known : report["events"])
    if (known["name"] == event) return known["status"] == "ok";
  return false;
}

}  // namespace hwprof
