// The C interface: nothing that is thrown inside gets out.
//
// counters/regions is a floor of its own, which is installed (libhwprof.so): the regions of a
// program, their report and their trace. It stands on counters/perf, and on counters/events and
// counters/machine for the names of events. What profiles, judges or renders reports may not come
// here, and nothing of src/ but src/base: who links the library gets the functions of hwprof.h and
// no library that these do not need. JSON is therefore written as text: the reports and traces are
// streams of rows, and a JSON library would add its code to each program and no key.
#include "counters/regions/hwprof.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "counters/regions/region_report.h"
#include "src/base/files.h"

namespace hwprof {
namespace {

// Valid until the thread's next call.
const char* problem(std::string text) {
  static thread_local std::string last;
  last = std::move(text);
  return last.c_str();
}

std::string make_report(hwprof_format format) {
  RegionRuntime& runtime = RegionRuntime::instance();
  const RegionReport report = make_region_report(runtime.setup(), runtime.totals());
  return format == HWPROF_JSON ? regions_as_json(report) : regions_as_text(report);
}

// "%p" stands for the process; else that of a child is put behind the name.
std::string path_of_process(std::string path, bool is_fork) {
  const std::string pid = fmt::format("{}", getpid());
  if (const auto place = path.find("%p"); place != std::string::npos)
    return path.replace(place, 2, pid);
  return is_fork ? path + "." + pid : path;
}

// nullptr, or what is wrong.
const char* problem_of(const Result<void>& done) {
  return done ? nullptr : problem(in_words(done.error()));
}

void complain(const Result<void>& done) {
  if (!done) std::fprintf(stderr, "hwprof: %s\n", in_words(done.error()).c_str());
}

// Makes no text: there may be no room for it.
void complain_of_memory(const char* what) {
  std::fprintf(stderr, "hwprof: no memory for %s\n", what);
}

// Apart, so that the short way of an edge keeps to the registers that it need not save.
[[gnu::noinline]] hwprof_region enter_first(const char* name) {
  RegionThread* regions = RegionRuntime::instance().start_thread();
  return regions == nullptr ? RegionThread::kNoTicket : regions->enter_slowly(name);
}

[[gnu::noinline]] void leave_slowly(hwprof_region region) {
  if (caller_regions == nullptr || !caller_regions->leave(region))
    RegionRuntime::instance().leave_unknown(region);
}

}  // namespace

void write_regions_at_exit() try {
  RegionRuntime& runtime = RegionRuntime::instance();
  const std::string& path = runtime.report_path_;
  const bool json = path.ends_with(".json");
  if (runtime.is_fork_ && runtime.totals().threads == 0) return;
  complain(write_file(path_of_process(path, runtime.is_fork_),
                      make_report(json ? HWPROF_JSON : HWPROF_TEXT)));
} catch (...) {  // memory ran out; whatever it was, the program ends as it would without us
  complain_of_memory("the report of regions");
}

void write_trace_at_exit() try {
  RegionRuntime& runtime = RegionRuntime::instance();
  if (runtime.is_fork_ && runtime.totals().threads == 0) return;
  complain(write_file(path_of_process(*runtime.trace_path_, runtime.is_fork_),
                      runtime.trace_text().value_or(TraceText()).json));
} catch (...) {  // memory ran out; whatever it was, the program ends as it would without us
  complain_of_memory("the trace");
}

}  // namespace hwprof

using hwprof::caller_regions;
using hwprof::RegionRuntime;

extern "C" {

const char* hwprof_start(const char* events) try {
  return hwprof::problem_of(RegionRuntime::instance().start(events == nullptr ? "" : events));
} catch (...) {
  return "no memory";
}

hwprof_region hwprof_enter(const char* name) {
  hwprof::RegionThread* regions = caller_regions;
  if (regions == nullptr) [[unlikely]]
    return hwprof::enter_first(name);
  return regions->enter(name);
}

void hwprof_leave(hwprof_region region) {
  hwprof::RegionThread* regions = caller_regions;
  if (regions == nullptr || !regions->leave_fast(region)) [[unlikely]]
    hwprof::leave_slowly(region);
}

void hwprof_declare(hwprof_region region, double flops, double bytes) {
  if (caller_regions == nullptr || !caller_regions->declare(region, flops, bytes)) [[unlikely]]
    RegionRuntime::instance().leave_unknown(region);
}

void hwprof_describe(hwprof_region region, const char* type, const char* shape) {
  if (caller_regions == nullptr) {
    RegionRuntime::instance().leave_unknown(region);
    return;
  }
  caller_regions->describe(region, type, shape);
}

const char* hwprof_trace(const char* path) try {
  return hwprof::problem_of(RegionRuntime::instance().trace(path == nullptr ? "" : path));
} catch (...) {
  return "no memory";
}

const char* hwprof_write_trace(const char* path) try {
  if (path == nullptr) return "no path";
  const auto trace = RegionRuntime::instance().trace_text();
  if (!trace) return "no trace was asked for; call hwprof_trace() before the first region";
  return hwprof::problem_of(hwprof::write_file(path, trace->json));
} catch (...) {
  return "no memory";
}

char* hwprof_report(hwprof_format format) try {
  return strdup(hwprof::make_report(format).c_str());
} catch (...) {
  return nullptr;
}

void hwprof_free(char* report) { std::free(report); }

const char* hwprof_write(const char* path, hwprof_format format) try {
  if (path == nullptr) return "no path";
  return hwprof::problem_of(hwprof::write_file(path, hwprof::make_report(format)));
} catch (...) {
  return "no memory";
}

const char* hwprof_version(void) { return HWPROF_VERSION; }

// For hwprof's audit library (src/observe/audit/call_place.h), which asks at each long call of a
// BLAS: no part of the interface. The regions that the caller is in, "step/dot", or the end of that
// where there is no room; their number.
HWPROF_API unsigned long hwprof_open_path(char* to, unsigned long room) {
  return caller_regions == nullptr ? 0 : caller_regions->write_open_path({to, room});
}

}  // extern "C"
