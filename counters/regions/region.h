// Counts named regions of a C++ program. Header only, over the C interface: hwprof.h says what is
// counted, how threads, forks and errors behave, and which environment variables are read.
//
//   {
//     hwprof::Region region("conv1d");
//     region.declare({.flops = 2.0 * m * n * k, .bytes = 4.0 * (m * k + k * n + m * n)});
//     ...
//   }
//   std::puts(hwprof::regions_text().c_str());
#pragma once

#include <string>

#include "hwprof.h"

namespace hwprof {

struct RegionWork {
  double flops = 0;  // floating-point operations
  double bytes = 0;  // moved to and from memory
};

// Entered where it is made, left where it goes out of scope, by an exception too.
class Region {
 public:
  [[nodiscard]] explicit Region(const char* name) noexcept : id_(hwprof_enter(name)) {}
  [[nodiscard]] explicit Region(const std::string& name) noexcept : Region(name.c_str()) {}
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { hwprof_leave(id_); }

  // Adds to the work of this entry.
  void declare(RegionWork work) noexcept { hwprof_declare(id_, work.flops, work.bytes); }
  // What kind of work, on what: for grouping. Right after it is made.
  void describe(const char* type, const char* shape) noexcept { hwprof_describe(id_, type, shape); }
  void describe(const std::string& type, const std::string& shape) noexcept {
    describe(type.c_str(), shape.c_str());
  }

 private:
  hwprof_region id_;
};

// Chooses the events, before the first region. Empty, or what is wrong.
[[nodiscard]] inline std::string start_regions(const char* events) {
  const char* problem = hwprof_start(events);
  return problem == nullptr ? "" : problem;
}

// Keeps every call for a trace, before the first region. Empty, or what is wrong.
[[nodiscard]] inline std::string trace_regions(const char* path) {
  const char* problem = hwprof_trace(path);
  return problem == nullptr ? "" : problem;
}

// The report up to now.
[[nodiscard]] inline std::string regions_report(hwprof_format format) {
  char* report = hwprof_report(format);
  std::string text = report == nullptr ? "" : report;
  hwprof_free(report);
  return text;
}
[[nodiscard]] inline std::string regions_text() { return regions_report(HWPROF_TEXT); }
[[nodiscard]] inline std::string regions_json() { return regions_report(HWPROF_JSON); }

}  // namespace hwprof
