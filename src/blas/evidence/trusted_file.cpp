#include "src/blas/evidence/trusted_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace hwprof::blas {

std::string why_not_to_load(const std::string& path, std::set<uid_t> owners) {
  owners.insert({0, ::geteuid()});
  std::error_code error;
  std::filesystem::path part = std::filesystem::canonical(path, error);
  if (error) return fmt::format("{}: {}", path, error.message());
  // Who may write a folder above it can put another file in its place.
  for (;; part = part.parent_path()) {
    struct stat info = {};
    if (::stat(part.c_str(), &info) != 0) return fmt::format("{}: {}", path, std::strerror(errno));
    const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
    if (!owners.contains(info.st_uid) || ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)) {
      return fmt::format("other users can write {}, and hwprof would run what is in it", path);
    }
    if (part == part.root_path()) return {};
  }
}

}  // namespace hwprof::blas
