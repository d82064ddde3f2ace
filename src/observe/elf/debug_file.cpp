#include "src/observe/elf/debug_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <utility>
#include <vector>

#include "src/base/files.h"
#include "src/base/untrusted_file.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof::observe {
namespace {

// elfutils maps debug files, and a mapped file that its owner cuts off ends the reader (SIGBUS).
// One beyond this is mapped all the same: that costs the worker, and not hwprof (monitor.h).
constexpr off_t kMostCopiedBytes = off_t{256} << 20;

std::vector<std::string> candidates(const DebugFileWanted& wanted) {
  std::vector<std::string> paths;
  if (wanted.build_id.size() > 2) {
    paths.push_back("/usr/lib/debug/.build-id/" + wanted.build_id.substr(0, 2) + "/" +
                    wanted.build_id.substr(2) + ".debug");
  }
  if (wanted.link.starts_with('/')) {
    paths.push_back(wanted.link);
  } else if (!wanted.link.empty()) {
    const std::string folder = wanted.beside.substr(0, wanted.beside.rfind('/') + 1);
    for (const std::string& in : {folder, folder + ".debug/", "/usr/lib/debug" + folder})
      paths.push_back(in + wanted.link);
  }
  return paths;
}

// Each block of `file`, in order; false where it cannot be read to its end, or `take` says so.
template <typename Take>
bool each_block(int file, Take take) {
  std::vector<unsigned char> block(std::size_t{1} << 16U);
  for (off_t at = 0;;) {
    const ssize_t n =
        retry_interrupted([&] { return ::pread(file, block.data(), block.size(), at); });
    if (n <= 0) return n == 0;
    if (!take(block.data(), static_cast<std::size_t>(n))) return false;
    at += n;
  }
}

bool has_checksum(int file, std::uint32_t wanted) {
  uLong sum = ::crc32(0, nullptr, 0);
  return each_block(file,
                    [&](const unsigned char* bytes, std::size_t count) {
                      sum = ::crc32(sum, bytes, static_cast<uInt>(count));
                      return true;
                    }) &&
         sum == wanted;
}

bool belongs(int file, const DebugFileWanted& wanted) {
  if (!wanted.build_id.empty()) return ElfFile(file).build_id() == wanted.build_id;
  return has_checksum(file, wanted.link_checksum);
}

UniqueFd copy_in_memory(int file) {
  UniqueFd copy(::memfd_create("hwprof-debug", MFD_CLOEXEC));
  const bool whole =
      copy.valid() && each_block(file, [&](const unsigned char* bytes, std::size_t count) {
        return write_all(copy.get(), {reinterpret_cast<const char*>(bytes), count}) == 0;
      });
  return whole ? std::move(copy) : UniqueFd();
}

}  // namespace

DebugFile find_debug_file(const DebugFileWanted& wanted) {
  for (const std::string& path : candidates(wanted)) {
    auto file = open_untrusted(path, {.follow_link = true});
    if (!file) continue;
    struct stat status {};
    if (::fstat(file->get(), &status) != 0 || status.st_size > kMostCopiedBytes ||
        (status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)) {
      if (belongs(file->get(), wanted)) return {std::move(*file), path};
      continue;
    }
    UniqueFd copy = copy_in_memory(file->get());
    if (copy.valid() && belongs(copy.get(), wanted)) return {std::move(copy), path};
  }
  return {};
}

}  // namespace hwprof::observe
