/* Counts named regions of a program: calls, time and hardware events, a thread and a call path at a
 * time. This is the C interface; hwprof/region.h has the same for C++.
 *
 *   hwprof_region region = hwprof_enter("conv1d");
 *   ...
 *   hwprof_leave(region);
 *
 * What is counted
 * - Regions nest within a thread. A region entered in a region of the same name is that region: its
 *   calls are counted, its total time is that of the outermost. Call paths of all threads are
 * merged by name in the report.
 * - Times are nanoseconds, counted by the processor's own counter where the kernel trusts it, and
 *   checked against CLOCK_MONOTONIC; else that clock. Events are those of the thread that is
 * inside, not of the threads that it starts.
 * - Total includes what nested regions took, self does not.
 * - Each edge costs time and events itself. What a pair costs at least is measured once; the report
 *   subtracts it and keeps the raw numbers beside ("raw" and "corrected" in JSON).
 * Where events cannot be counted, times go on and the report says why.
 *
 * Environment (read at the first use; not in a setuid program)
 *   HWPROF_EVENTS   events to count, comma-separated; hwprof_start() takes precedence
 *   HWPROF_REGIONS  file for the report when the program exits; JSON if it ends in ".json". "%p" in
 *                   it stands for the process id, which a child made by fork() else appends.
 *   HWPROF_TRACE    file for a trace when the program exits (named in the same way): every call, in
 *                   Chrome's trace event format, which Perfetto and chrome://tracing open
 *   HWPROF_TRACE_CALLS  how many calls a thread keeps for it: the last ones; 65536 unless set
 *   HWPROF_CLOCK    "kernel": times by clock_gettime()
 *
 * Every function may be called from any thread, but not from signal handlers. None throws, exits or
 * sets errno for a purpose. A region must be left by the thread that entered it. A thread that ends
 * inside a region is reported. A child made by fork() starts with nothing recorded. */
#ifndef HWPROF_HWPROF_H
#define HWPROF_HWPROF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HWPROF_API __attribute__((visibility("default")))

/* One entry. 0: nothing was recorded (no memory left); every function takes it. */
typedef uint64_t hwprof_region;

/* NOLINTNEXTLINE(readability-identifier-naming): a name of C */
enum hwprof_format { HWPROF_TEXT = 0, HWPROF_JSON = 1 };

/* Chooses the events, before the first region of the process: "cycles,instructions,page-faults", or
 * "" for times only. NULL, or what is wrong (valid until the thread's next call); then nothing has
 * changed. An event that this machine cannot count is no error: the report has its reason. */
HWPROF_API const char* hwprof_start(const char* events);

/* `name` is copied when it is new; UTF-8. */
HWPROF_API hwprof_region hwprof_enter(const char* name);
/* Leaves regions that were entered since then and not left, too; the report counts those, and calls
 * for a region that is not open in this thread. */
HWPROF_API void hwprof_leave(hwprof_region region);

/* Work that this entry does, on top of what was declared before: floating-point operations and
 * bytes moved. The report adds those of nested regions and gives rates over the total time. */
HWPROF_API void hwprof_declare(hwprof_region region, double flops, double bytes);

/* What kind of work this entry does, and on what: "Convolution", "64x128x300". Entries of one name
 * and another description are reported apart, so that they can be grouped by it. Either may be
 * NULL. Right after entering, by the same thread: later, or for a region inside itself, it is
 * ignored. */
HWPROF_API void hwprof_describe(hwprof_region region, const char* type, const char* shape);

/* Keeps every call from now on, for a trace: before the first region of the process. It is written
 * to `path` when the program exits; NULL or "": only by hwprof_write_trace(). NULL, or what is
 * wrong (valid until the thread's next call). */
HWPROF_API const char* hwprof_trace(const char* path);
/* What is kept now. NULL, or what went wrong. */
HWPROF_API const char* hwprof_write_trace(const char* path);

/* Bytes that one thread has allocated. `live` may be negative: memory of others counts where it is
 * freed. Regions set `peak` to `live` at first. NOLINTNEXTLINE(readability-identifier-naming) */
struct hwprof_memory {
  uint64_t allocated; /* ever */
  int64_t live;       /* allocated less freed */
  int64_t peak;       /* highest `live` */
};
/* Not in this library: where a program, or a library that it loads, defines this function, regions
 * know what their thread allocated. libhwprof-memory.so (linked or preloaded) has it for malloc().
 * The calling thread's numbers, at a place that stays until the thread ends. */
__attribute__((weak)) struct hwprof_memory* hwprof_memory_of_thread(void);

/* What was recorded up to now, by all threads; entries still open are counted but not timed. Exact
 * for threads that are between two edges. Free it with hwprof_free(). NULL: no memory left. */
HWPROF_API char* hwprof_report(enum hwprof_format format);
HWPROF_API void hwprof_free(char* report);

/* The same into a file. NULL, or what went wrong (valid until the thread's next call). */
HWPROF_API const char* hwprof_write(const char* path, enum hwprof_format format);

/* "0.1.0" */
HWPROF_API const char* hwprof_version(void);

#ifdef __cplusplus
}
#endif

#endif
