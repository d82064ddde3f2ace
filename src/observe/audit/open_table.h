// Maps the table that hwprof has named in the environment, by system calls made by hand.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "src/observe/audit/system_call.h"
#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

struct TablePlace {
  char path[64];
  u64 nonce;
};

// "/proc/PID/fd/N:NONCE"
inline bool parse_place(const char* text, TablePlace& place) {
  u32 length = 0;
  for (; text[length] != ':'; ++length) {
    if (text[length] == '\0' || length + 1 >= sizeof(place.path)) return false;
    place.path[length] = text[length];
  }
  place.path[length] = '\0';
  place.nonce = 0;
  for (const char* digit = text + length + 1; *digit != '\0'; ++digit) {
    if (*digit < '0' || *digit > '9') return false;
    place.nonce = place.nonce * 10 + static_cast<u64>(*digit - '0');
  }
  return true;
}

// nullptr: it is not there, or another file has come to its place.
inline Table* open_table(const TablePlace& place) {
  const long fd = system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(place.path),
                              O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return nullptr;
  struct stat status;
  status.st_mode = 0;  // the rest is not read without it; clearing it all may call memset()
  const bool fits = system_call(SYS_fstat, fd, reinterpret_cast<long>(&status)) == 0 &&
                    S_ISREG(status.st_mode) && status.st_size == static_cast<long>(sizeof(Table));
  const long address =
      fits ? system_call(SYS_mmap, 0, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
           : -1;
  system_call(SYS_close, fd);
  if (address < 0 && address > -4096) return nullptr;
  auto* mapped = reinterpret_cast<Table*>(address);
  if (mapped->magic == kMagic && mapped->nonce == place.nonce) return mapped;
  system_call(SYS_munmap, address, sizeof(Table));
  return nullptr;
}

}  // namespace hwprof::observe::audit
