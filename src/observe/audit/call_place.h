// Where the thread of a long call stood, in the audit library: the frames of Python and the region
// of libhwprof that are open. Both are read when the call has returned: they are the same then, and
// of short calls nobody asks.
//
// The frames are the calling thread's own, and nobody changes them meanwhile. What leads to them is
// looked at before it is read: a thread that outlives the interpreter has none any more.
#pragma once

#include "src/observe/audit/arguments.h"
#include "src/observe/audit/call_aside.h"
#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/python_chain.h"
#include "src/observe/audit/system_call.h"
#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

// Of libhwprof: writes the open regions of the calling thread, and gives their number.
inline constexpr char kOpenPathName[] = "hwprof_open_path";

// Functions of the program's own; 0: there is none such.
inline u64 open_path = 0, python_thread = 0;
inline const link_map* python_file = nullptr;  // that has the second; libhwprof is never unloaded
inline PythonChain own_chain;

// Of each file that is loaded. The names are the interpreter's own, wherever it is.
inline void find_places(const Table& table, const link_map* file, const ElfObject& object) {
  if (open_path == 0) open_path = object.function(kOpenPathName);
  if (table.reads_python == 0 || python_thread != 0) return;
  const u64 version = object.variable("Py_Version"), runtime = object.variable("_PyRuntime");
  if (version == 0 || runtime == 0) return;
  own_chain =
      python_chain(*reinterpret_cast<const u64*>(version), reinterpret_cast<const u64*>(runtime));
  if (!own_chain.known) return;
  python_file = file;
  __atomic_store_n(&python_thread, object.function("PyGILState_GetThisThreadState"),
                   __ATOMIC_RELEASE);
}

// Of each file before it is unloaded, as by a program that has had an interpreter in it.
inline void forget_places(const link_map* file) {
  if (file == python_file) __atomic_store_n(&python_thread, 0, __ATOMIC_RELEASE);
}

// Reads words, each page of which is asked for first.
class AskedWords {
 public:
  bool read(u64 address, u64& value) {
    if (!looks_like_pointer(address, sizeof(u64))) return false;
    if (page_of(address) != page_ && !is_readable_now(address)) return false;
    page_ = page_of(address);
    value = *reinterpret_cast<const u64*>(address);
    return true;
  }

 private:
  u64 page_ = 0;
};

// False: nothing that can be read.
inline bool read_frames(const PythonChain& chain, u64 thread, CallPlace& place) {
  constexpr u32 kMostSteps = 3 * kCallFrames;
  AskedWords words;
  u64 frame = 0;
  if (!words.read(thread + chain.frame, frame)) return false;
  if (chain.frame_in_record && !words.read(frame + chain.in_record, frame)) return false;
  u32 count = 0;
  for (u32 i = 0; frame != 0 && count < kCallFrames && i < kMostSteps; ++i) {
    u64 code = 0, instruction = 0, previous = 0, flags = 0;
    if (!words.read(frame + chain.code, code) ||
        !words.read(frame + chain.instruction, instruction) ||
        !words.read(frame + chain.flags, flags) || !words.read(frame + chain.previous, previous))
      return false;
    frame = previous;
    flags = flags >> 8 * chain.byte & 0xff;
    if (!chain.is_entry && flags == PythonChain::kEntryOwner) {
      if (count > 0) place.frames[count - 1].instruction |= 1;
      continue;
    }
    place.frames[count++] = {code, (instruction & ~u64{1}) | (chain.is_entry && flags != 0)};
  }
  place.frame_count = static_cast<unsigned short>(count);
  place.whole = frame == 0;
  return true;
}

// Not part of the way of short calls.
__attribute__((noinline, cold)) inline void note_place(CallPlace& place) {
  place.process = 0;
  place.frame_count = place.whole = 0;
  place.region[0] = '\0';
  const u64 this_thread = load(python_thread);
  if ((open_path == 0 && this_thread == 0) || load(asks_nothing) != 0) return;
  place.process = static_cast<u32>(system_call(SYS_getpid, 0));
  if (open_path != 0)
    hwprof_call_aside(open_path, reinterpret_cast<u64>(place.region), kRegionBytes);
  if (this_thread == 0) return;
  const u64 thread = hwprof_call_aside(this_thread, 0, 0);
  if (thread != 0 && !read_frames(own_chain, thread, place)) place.frame_count = 0;
}

}  // namespace hwprof::observe::audit
