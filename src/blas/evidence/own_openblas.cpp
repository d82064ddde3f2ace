#include "src/blas/evidence/own_openblas.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "src/blas/providers/providers.h"
#include "src/own_openblas_path.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSelf = "/proc/self/exe";

}  // namespace

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

OwnOpenBlas own_openblas(const std::vector<std::string>& places) {
  // Who owns hwprof's own file could change hwprof as well.
  struct stat self = {};
  std::set<uid_t> owners;
  if (::stat(kSelf, &self) == 0) owners.insert(self.st_uid);
  std::string refused;
  for (const std::string& place : places) {
    std::error_code error;
    const fs::path file = fs::canonical(place, error);
    if (error) continue;
    refused = why_not_to_load(place, owners);
    if (refused.empty()) return {file, fs::path(place).parent_path(), ""};
  }
  return {"", "",
          fmt::format("hwprof has no OpenBLAS of its own to compare with{}: scripts/setup unpacks "
                      "one, or: {}",
                      refused.empty() ? "" : " (" + refused + ")", install_advice())};
}

OwnOpenBlas own_openblas() {
  std::vector<std::string> places;
  std::error_code error;
  const fs::path program = fs::read_symlink(kSelf, error);
  if (!error) {
    places.push_back(program.parent_path().parent_path() / HWPROF_LIBDIR / "hwprof" / "own" /
                     "libopenblas.so.0");
  }
  // Of a package, which lies beside no build: none.
  if constexpr (std::string_view(HWPROF_OWN_OPENBLAS).size() > 0)
    places.emplace_back(HWPROF_OWN_OPENBLAS);
  return own_openblas(places);
}

}  // namespace hwprof::blas
