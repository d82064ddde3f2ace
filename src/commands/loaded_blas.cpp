#include "src/commands/loaded_blas.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <vector>

#include "src/base/unique_fd.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/evidence/own_openblas.h"
#include "src/blas/judge/judge.h"
#include "src/blas/ladder/ladder.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

// For as long as it lives, of the variables that shape a BLAS only `setting` is set ("NAME=VALUE";
// else none): a library reads them once, when it is loaded.
class OnlySetting {
 public:
  explicit OnlySetting(const std::string& setting) : before_(blas::blas_environment()) {
    for (const auto& [name, value] : before_) ::unsetenv(name.c_str());
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) return;
    name_ = setting.substr(0, equals);
    ::setenv(name_.c_str(), setting.c_str() + equals + 1, 1);
  }
  ~OnlySetting() {
    if (!name_.empty()) ::unsetenv(name_.c_str());
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  OnlySetting(const OnlySetting&) = delete;
  OnlySetting& operator=(const OnlySetting&) = delete;

 private:
  std::map<std::string, std::string> before_;
  std::string name_;
};

// The loader takes these for what the library needs, which stands beside it alone. One may need
// another, so in two passes.
void load_neighbours(const std::string& folder) {
  for (int pass = 0; pass < 2; ++pass) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      if (name.find(".so.") == std::string::npos || name.find("blas") != std::string::npos)
        continue;
      ::dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_LOCAL);
    }
  }
}

// A copy in memory: the loader gives a file that it has loaded already, with the core type that it
// chose then. -1 where there is no room.
UniqueFd copy_of(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  UniqueFd copy(::memfd_create("blas", MFD_CLOEXEC));
  struct stat status {};
  if (!file.valid() || !copy.valid() || ::fstat(file.get(), &status) != 0) return {};
  for (off_t at = 0; at < status.st_size;) {
    if (::sendfile(copy.get(), file.get(), &at, static_cast<std::size_t>(status.st_size - at)) <= 0)
      return {};
  }
  return copy;
}

// The rung that programs could get and do not; nullptr where what they get is as good.
const report::LadderRung* better_rung(const report::ProfileBlas& judged) {
  using enum report::VerdictKind;
  if (judged.verdict != kSuboptimal && judged.verdict != kUnoptimised &&
      judged.verdict != kWrongResults) {
    return nullptr;
  }
  // Highest share of the peak first.
  const auto best =
      std::find_if(judged.ladder.begin(), judged.ladder.end(), [](const report::LadderRung& rung) {
        return rung.peak_fraction && rung.results.right.value_or(true);
      });
  return best == judged.ladder.end() || best->as_found ? nullptr : &*best;
}

// Without a ladder, since there is nothing to be climbed.
report::LadderRung own_rung() {
  report::LadderRung rung;
  rung.library = blas::own_openblas().path;
  rung.setting = "auto";
  rung.own = true;
  return rung;
}

}  // namespace

BestBlas load_best(const report::ProfileBlas& judged, const LoadedBlas& found) {
  const report::LadderRung own = found.library ? report::LadderRung{} : own_rung();
  const report::LadderRung* rung = found.library ? better_rung(judged) : &own;
  if (rung == nullptr || rung->library.empty()) return {};
  const bool loaded_already = found.library && (rung->library == found.library->path() ||
                                                rung->library == found.identity->kernels);
  if (rung->own) load_neighbours(blas::own_openblas().folder);
  UniqueFd copy;
  std::string path = rung->library;
  if (loaded_already) {
    copy = copy_of(found.identity->kernels.empty() ? path : found.identity->kernels);
    if (!copy.valid()) return {std::nullopt, "no memory for a second copy of " + path};
    path = fmt::format("/proc/self/fd/{}", copy.get());
  }
  const OnlySetting only(rung->setting);
  Result<LoadedBlas> loaded = load_blas(path, found.threads);
  if (!loaded) return {std::nullopt, loaded.error().what};
  if (!loaded->library) return {std::nullopt, loaded->reason};
  if (!rung->core.empty() && loaded->identity->core != rung->core) {
    return {std::nullopt, fmt::format("loaded into this process, {} chose {}, not {}",
                                      rung->library, loaded->identity->core, rung->core)};
  }
  return {*std::move(loaded), ""};
}

std::string library_in_words(const blas::Identity& identity) {
  std::string text(identity.provider == report::Provider::kOpenBlas ? "OpenBLAS"
                                                                    : to_text(identity.provider));
  for (const std::string& part : {identity.version, identity.core})
    if (!part.empty()) text += " " + part;
  return text;
}

Result<LoadedBlas> load_blas(const std::string& wanted, int threads) {
  LoadedBlas loaded;
  Result<BlasLibrary> library = BlasLibrary::load(wanted);
  if (!library) {
    if (library.error().fault == Fault::kUsage) return error_of(library);
    loaded.reason = library.error().what;
    return loaded;
  }
  loaded.threads_by_itself = blas::identify(*library).threads;
  const bool told = library->set_threads(threads);
  loaded.identity = blas::identify(*library);
  loaded.threads = loaded.identity->threads.value_or(told ? threads : 1);
  loaded.library = std::move(*library);
  return loaded;
}

void start_blas_threads(const BlasLibrary& library) {
  constexpr std::size_t kSize = 256;
  const std::vector<float> a(kSize * kSize, 1.0f);
  std::vector<float> c(kSize * kSize);
  library.sgemm(false, false, kSize, kSize, kSize, 1.0f, a.data(), kSize, a.data(), kSize, 0.0f,
                c.data(), kSize);
}

report::ProfileBlas judge_blas(const LoadedBlas& loaded, const Machine& machine,
                               const BlasQuestion& question) {
  report::ProfileBlas record;
  record.environment = blas::blas_environment();
  record.requested = question.requested;
  blas::Evidence evidence{.requested = question.requested,
                          .environment = record.environment,
                          .cpu = blas::visible_cpu(machine),
                          .installed = blas::installed_blas(),
                          .cpus = question.cpus.size(),
                          .threads = loaded.threads_by_itself,
                          .surer = question.ladder ? "" : "run without --no-ladder"};
  if (loaded.library) {
    evidence.library = *loaded.identity;
    evidence.library.threads = loaded.threads;
  }
  if (question.ladder) {
    const blas::LadderOptions options{
        .budget = std::chrono::milliseconds(static_cast<int>(1000 * question.ladder_seconds)),
        .cpus = question.cpus,
        .stop = question.stop,
        .own = blas::own_openblas()};
    blas::Ladder ladder = loaded.library ? blas::climb(*loaded.library, *loaded.identity,
                                                       evidence.installed, machine, options)
                                         : blas::climb_own(machine, options);
    std::move(ladder).move_to(record);
    evidence.library.behind = record.behind;
  } else if (loaded.library) {
    record.ladder_note = "not measured (--no-ladder)";
  }
  static_cast<report::Verdict&>(record) = blas::judge(evidence, record.ladder);
  return record;
}

}  // namespace hwprof
