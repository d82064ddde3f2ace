#include "src/blas/evidence/installed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "src/base/text.h"
#include "src/blas/evidence/library_file.h"
#include "src/blas/providers/providers.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/proc/program_file.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;
using report::InstalledBlas;

constexpr std::string_view kDefaultSoname = "libblas.so.3";

std::vector<fs::path> loader_path() {
  const char* value = std::getenv(kLoaderPath);
  std::vector<fs::path> folders;
  std::string text = value != nullptr ? value : "";
  std::replace(text.begin(), text.end(), ';', ':');  // ld.so(8): either separates
  for (const std::string_view folder : split(text, ':')) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

void add_variable(std::string_view entry, std::map<std::string, std::string>& found) {
  const auto equals = entry.find('=');
  const std::string_view name = entry.substr(0, equals);
  if (equals != std::string_view::npos && shapes_blas(name)) {
    found.emplace(name, entry.substr(equals + 1));
  }
}

struct Candidate {
  std::string path, how, select = {};
  bool selected = false;
};

// dpkg's and chkconfig's records: the mode, the link, names and links of followers, an empty line,
// then for each choice its path, its priority and its followers' paths.
void add_alternatives(const fs::path& folder, std::vector<Candidate>& candidates) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!is_blas_file_name(name) || name.find(".so.") == std::string::npos) continue;
    std::ifstream file(entry.path());
    std::string mode, link, line;
    std::getline(file, mode);
    std::getline(file, link);
    const fs::path chosen = fs::canonical(link, ignored);
    while (std::getline(file, line)) {
      if (!line.starts_with('/') || line == link) continue;
      candidates.push_back({line, "alternative of " + name,
                            fmt::format("update-alternatives --set {} {}", name, line),
                            !chosen.empty() && fs::canonical(line, ignored) == chosen});
    }
  }
}

// Of the thousands of libraries that there may be only those with the name of a BLAS are opened.
std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (const fs::path& folder : loader_path()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      if (is_blas_file_name(name))
        all.push_back({entry.path(), fmt::format("{} {}", kLoaderPath, name)});
    }
  }
  for (const char* folder : {"/var/lib/dpkg/alternatives", "/var/lib/alternatives"}) {
    add_alternatives(folder, all);
  }
  for (const auto& [soname, path] : loader_cache()) {
    if (is_blas_file_name(soname)) all.push_back({path, "loader cache " + soname});
  }
  return all;
}

// As the loader looks for it, but for the RPATH of who asks. Libraries of other architectures stand
// in the same cache.
void find_default(report::Declared& said) {
  std::vector<fs::path> places;
  for (const fs::path& folder : loader_path()) places.push_back(folder / kDefaultSoname);
  for (const auto& [soname, path] : loader_cache()) {
    if (soname == kDefaultSoname) places.emplace_back(path);
  }
  for (const fs::path& place : places) {
    std::error_code error;
    const fs::path file = fs::canonical(place, error);
    const auto identity = error ? std::nullopt : identify_file(file);
    if (!identity) continue;
    said.default_library = file;
    said.default_provider = identity->provider;
    return;
  }
}

// The layout of glibc's sysdeps/generic/dl-cache.h, which has stood since 2.2; where an older one
// precedes it, it begins at a multiple of eight bytes.
struct CacheHeader {
  char magic[20];
  std::uint32_t count, string_bytes;
  std::uint32_t flags, extensions, unused[3];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t soname, path;  // from the header
  std::uint32_t os_version;
  std::uint64_t hardware;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";

}  // namespace

LoaderCache parse_loader_cache(std::string_view bytes) {
  LoaderCache cache;
  const auto begin = bytes.find(kCacheMagic);
  if (begin == std::string_view::npos) return cache;
  bytes.remove_prefix(begin);
  if (bytes.size() < sizeof(CacheHeader)) return cache;
  CacheHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t count =
      std::min<std::size_t>(header.count, (bytes.size() - sizeof header) / sizeof(CacheEntry));
  const auto text_at = [&](std::uint32_t at) {
    if (at >= bytes.size()) return std::string();
    const std::string_view rest = bytes.substr(at);
    return std::string(rest.substr(0, rest.find('\0')));
  };
  for (std::size_t i = 0; i < count; ++i) {
    CacheEntry entry;
    std::memcpy(&entry, bytes.data() + sizeof header + i * sizeof entry, sizeof entry);
    std::string soname = text_at(entry.soname), path = text_at(entry.path);
    if (!soname.empty() && path.starts_with('/')) {
      cache.emplace_back(std::move(soname), std::move(path));
    }
  }
  return cache;
}

const LoaderCache& loader_cache() {
  static const LoaderCache cache = [] {
    std::ifstream file("/etc/ld.so.cache", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    return parse_loader_cache(bytes);
  }();
  return cache;
}

std::map<std::string, std::string> blas_environment() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    add_variable(*entry, found);
  }
  return found;
}

std::optional<InstalledBlas> installed_at(const std::string& path, std::string how,
                                          std::string select) {
  const auto file = identify_file(path);
  if (!file) return std::nullopt;
  InstalledBlas one;
  one.path = path;
  one.provider = file->provider;
  one.threaded = file->threaded;
  one.how = std::move(how);
  one.select = std::move(select);
  return one;
}

std::vector<InstalledBlas> installed_blas() {
  std::vector<InstalledBlas> installed;
  for (Candidate& candidate : candidates()) {
    std::error_code error;
    const std::string path = fs::canonical(candidate.path, error);
    if (error || std::any_of(installed.begin(), installed.end(),
                             [&](const InstalledBlas& known) { return known.path == path; })) {
      continue;
    }
    if (auto one = installed_at(path, std::move(candidate.how), std::move(candidate.select))) {
      one->selected = candidate.selected;
      installed.push_back(*std::move(one));
    }
  }
  return installed;
}

report::Declared declared_of(int pid) {
  report::Declared said;
  find_default(said);
  const UniqueFd file = observe::open_foreign(
      {.kind = observe::ForeignFile::Kind::kEnvironment, .pid = pid, .path = {}});
  const auto bytes = file.valid() ? read_text(file.get()) : std::nullopt;
  if (!bytes) {
    said.environment_reason =
        fmt::format("the environment of process {} is not readable: {}", pid, std::strerror(errno));
    return said;
  }
  for (const std::string_view entry : split(*bytes, '\0')) add_variable(entry, said.environment);
  return said;
}

report::Declared declared(const std::vector<std::string>& command) {
  report::Declared said;
  said.environment = blas_environment();
  find_default(said);
  if (!command.empty()) {
    const auto program = find_program(command.front());
    for (std::string& soname : observe::ElfFile(program.value_or("")).needed()) {
      if (is_blas_file_name(soname)) said.needed.push_back(std::move(soname));
    }
  }
  return said;
}

}  // namespace hwprof::blas
