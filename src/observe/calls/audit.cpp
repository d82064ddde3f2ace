#include "src/observe/calls/audit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/observe/calls/call_tally.h"
#include "src/observe/calls/routine_file.h"

namespace hwprof::observe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libhwprof-audit.so";

// The watched program writes these, at any time and anything.
std::string text_at(const char* text, std::size_t room) { return {text, ::strnlen(text, room)}; }
std::uint32_t load(const std::uint32_t& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
std::uint64_t load(const audit::u64& value) { return __atomic_load_n(&value, __ATOMIC_RELAXED); }

std::string canonical(const std::string& path) {
  std::error_code error;
  const std::string found = fs::canonical(path, error);
  return error ? path : found;
}

struct Bound {
  std::string symbol, caller, library;
  bool blas = true;
  ShapeCounts shapes;
  std::uint64_t count = 0;
};

// Nothing where the site has not been called, or is no site.
std::optional<Bound> read_site(const audit::Table& table, const audit::Site& site) {
  Bound bound;
  const std::uint32_t caller = load(site.caller), library = load(site.library);
  bound.symbol = text_at(site.symbol, audit::kSymbolBytes);
  Routine routine;
  if (caller >= audit::kFiles || library >= audit::kFiles ||
      !find_routine(bound.symbol.c_str(), routine)) {
    return std::nullopt;
  }
  bound.blas = routine.blas;
  bound.shapes = ShapeCounts(routine);
  for (const audit::Shard& shard : site.shards) {
    const std::uint64_t others = load(shard.others);
    bound.shapes.add_others(others);
    bound.count += others;
    for (const audit::CountedShape& slot : shard.shapes) {
      if (load(slot.state) != audit::kReady) continue;
      const std::uint64_t count = load(slot.count);
      const Shape shape = slot.shape;  // does not change any more
      if (count > 0) bound.shapes.add(shape, count);
      bound.count += count;
    }
  }
  if (bound.count == 0) return std::nullopt;
  bound.caller = canonical(text_at(table.files[caller].path, audit::kPathBytes));
  bound.library = canonical(text_at(table.files[library].path, audit::kPathBytes));
  return bound;
}

bool serves_blas(const std::string& path) {
  const auto file = open_routine_file(path);
  return file && std::any_of(file->entries.begin(), file->entries.end(),
                             [](const EntryPoint& entry) { return entry.routine.blas; });
}

}  // namespace

Result<std::string> find_audit_library() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return environment_error(error.value(), "the audit library cannot be looked for");
  const fs::path folder = program.parent_path();
  for (const fs::path& candidate :
       {folder / "observe" / kLibraryName, folder.parent_path() / "src" / "observe" / kLibraryName,
        folder.parent_path() / HWPROF_LIBDIR / "hwprof" / kLibraryName}) {
    if (::access(candidate.c_str(), R_OK) == 0) return candidate.string();
  }
  return environment_error(ENOENT,
                           fmt::format("{} is not there: it belongs to {}", kLibraryName,
                                       (folder.parent_path() / HWPROF_LIBDIR / "hwprof").string()),
                           "install hwprof whole, with meson install");
}

Result<Audit> Audit::create(const std::string& library) {
  // The loader takes the variable apart at colons, and an empty part would be the working folder.
  if (library.find_first_of(": \n") != std::string::npos) {
    return environment_error(0, "LD_AUDIT cannot name " + library,
                             "put hwprof into a folder without colons and blanks in its path");
  }
  Audit audit;
  audit.library_ = library;
  audit.owner_ = ::getpid();
  audit.file_.reset(::memfd_create("hwprof-calls", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!audit.file_.valid() || ::ftruncate(audit.file_.get(), sizeof(audit::Table)) != 0 ||
      ::fchmod(audit.file_.get(), 0600) != 0 ||
      ::fcntl(audit.file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      ::getrandom(&audit.nonce_, sizeof(audit.nonce_), 0) != sizeof(audit.nonce_)) {
    return environment_error(errno,
                             fmt::format("no memory to count calls in: {}", std::strerror(errno)));
  }
  void* memory = ::mmap(nullptr, sizeof(audit::Table), PROT_READ | PROT_WRITE, MAP_SHARED,
                        audit.file_.get(), 0);
  if (memory == MAP_FAILED) {
    return environment_error(errno,
                             fmt::format("no memory to count calls in: {}", std::strerror(errno)));
  }
  audit.table_ = static_cast<audit::Table*>(memory);
  audit.table_->nonce = audit.nonce_;
  audit.table_->magic = audit::kMagic;
  return audit;
}

Audit::Audit(Audit&& other) noexcept
    : file_(std::move(other.file_)),
      table_(std::exchange(other.table_, nullptr)),
      library_(std::move(other.library_)),
      nonce_(other.nonce_),
      owner_(other.owner_) {}

Audit::~Audit() {
  if (table_ != nullptr) ::munmap(table_, sizeof(audit::Table));
}

std::vector<std::string> Audit::environment() const {
  const char* others = std::getenv("LD_AUDIT");
  const std::string before = others != nullptr && *others != '\0' ? std::string(others) + ":" : "";
  return {"LD_AUDIT=" + before + library_,
          fmt::format("{}/proc/{}/fd/{}:{}", audit::kVariable, owner_, file_.get(), nonce_)};
}

std::uint64_t Audit::processes() const { return load(table_->processes); }
std::uint64_t Audit::unwatched() const { return load(table_->unwatched); }

// A call from a library that serves BLAS itself is the inner half of a call into it (FlexiBLAS, the
// dispatcher of MKL): it names the backend, and is not counted again.
std::vector<report::CallSite> Audit::sites() const {
  std::map<std::tuple<std::string, std::string, std::string>, Bound> merged;
  for (const audit::Site& site : table_->sites) {
    if (load(site.state) != audit::kReady) continue;
    auto bound = read_site(*table_, site);
    if (!bound) continue;
    const std::tuple key{bound->symbol, bound->caller, bound->library};
    if (auto known = merged.find(key); known != merged.end()) {
      known->second.shapes.merge(bound->shapes);
      known->second.count += bound->count;
    } else {
      merged.emplace(key, std::move(*bound));
    }
  }

  std::set<std::string> called;  // libraries
  std::map<std::string, bool> serves;
  std::map<std::string, const Bound*> backends;  // by the library in front
  for (const auto& [key, bound] : merged) {
    called.insert(bound.library);
    if (!serves.contains(bound.caller)) serves[bound.caller] = serves_blas(bound.caller);
    if (!bound.blas || !serves[bound.caller]) continue;
    const Bound*& backend = backends[bound.caller];
    if (backend == nullptr || backend->count < bound.count) backend = &bound;
  }

  std::vector<report::CallSite> sites;
  for (const auto& [key, bound] : merged) {
    if (bound.blas && serves[bound.caller] && called.contains(bound.caller)) continue;
    report::CallSite site;
    site.symbol = bound.symbol;
    site.caller = bound.caller;
    const auto backend = backends.find(bound.library);
    site.library =
        bound.blas && backend != backends.end() ? backend->second->library : bound.library;
    bound.shapes.write(site);
    sites.push_back(std::move(site));
  }
  most_flop_first(sites);
  return sites;
}

}  // namespace hwprof::observe
