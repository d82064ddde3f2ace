#include "src/blas/evidence/process_blas.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "src/base/text.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/mapped_library.h"
#include "src/blas/providers/providers.h"
#include "src/observe/proc/process_list.h"

namespace hwprof::blas {
namespace {

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

constexpr std::size_t kMostMapsBytes = std::size_t{16} << 20U;

// Of a file that cannot be read its name is all that is left to go by. Kernels in a file of their
// own do not count.
bool is_named_as_blas(const std::string& path) {
  const std::string_view name = last_part(path);
  return is_blas_file_name(name) || name.starts_with("libscipy_openblas");
}

MappedBlas unread_blas(const std::string& path, bool deleted, std::string reason) {
  MappedBlas one{.chosen = {}, .serves_blas = true, .deleted = deleted, .unreadable = !deleted};
  one.chosen.path = path;
  one.chosen.provider = Provider::kUnknown;
  one.chosen.reason = std::move(reason);
  return one;
}

}  // namespace

std::vector<MappedBlas> each_blas(const std::vector<MappedBlas>& files) {
  std::vector<report::ChosenCore> cores;
  for (const MappedBlas& file : files) cores.push_back(file.chosen);
  std::vector<MappedBlas> all;
  const auto provider_of = [](const MappedBlas& file) { return file.chosen.provider; };
  const auto has = [&](const std::vector<MappedBlas>& in, Provider provider, bool own) {
    return std::any_of(in.begin(), in.end(), [&](const MappedBlas& one) {
      return provider_of(one) == provider && one.serves_blas && (!own || one.own_choice);
    });
  };
  for (const MappedBlas& file : files) {
    const Provider provider = provider_of(file);
    if (!file.serves_blas || !facts(provider).is_blas) continue;
    const bool stands_alone =
        file.own_choice || provider == Provider::kUnknown || provider == Provider::kReference;
    if (!stands_alone && (has(files, provider, true) || has(all, provider, false))) continue;
    MappedBlas one = file;
    const auto* core = stands_alone ? nullptr : core_behind(cores, file.chosen.path, provider);
    if (core != nullptr) {
      one.chosen = *core;
      one.chosen.path = file.chosen.path;
      if (one.chosen.version.empty()) one.chosen.version = file.chosen.version;
    }
    all.push_back(std::move(one));
  }
  return all;
}

const ProcessBlas::Known& ProcessBlas::inspect(const Key& key, const observe::ProcessFiles& files,
                                               const observe::FileMapping& mapping,
                                               bool is_program) {
  const auto [at, is_new] = files_.try_emplace(key);
  Known& known = at->second;
  if (!is_new) return known;
  const UniqueFd file = observe::open_in_root(files, mapping.path);
  if (!file.valid()) {
    known.unreadable = fmt::format("the file cannot be read: {}", std::strerror(errno));
    return known;
  }
  if (!is_mapped_file(file.get(), mapping.file)) {
    known.unreadable = "the file at its path is another one than the process has mapped";
    return known;
  }
  auto found = inspect_file(fmt::format("/proc/self/fd/{}", file.get()), is_program);
  if (!found) return known;
  known.file = std::make_unique<LibraryFile>(*std::move(found));
  known.elsewhere = !is_same_file(file.get(), mapping.path);
  return known;
}

std::optional<std::vector<MappedBlas>> ProcessBlas::mapped_in(pid_t pid,
                                                              const observe::ProcessFiles& files) {
  std::vector<MappedBlas> all;
  const auto maps = read_text(files.maps.get(), kMostMapsBytes);
  if (!maps) return std::nullopt;
  const std::string program = observe::program_path(files);
  struct stat root {};
  ::fstat(files.root.get(), &root);
  for (const observe::FileMapping& mapping : observe::executable_files(*maps)) {
    if (mapping.deleted) {
      if (is_named_as_blas(mapping.path))
        all.push_back(unread_blas(mapping.path, true,
                                  "the file is no longer at its path, as after an upgrade: the "
                                  "process runs what was there"));
      continue;
    }
    const Known& known = inspect({root.st_dev, root.st_ino, mapping.path, mapping.file}, files,
                                 mapping, mapping.path == program);
    if (known.file == nullptr) {
      if (!known.unreadable.empty() && is_named_as_blas(mapping.path))
        all.push_back(unread_blas(mapping.path, false, known.unreadable));
      continue;
    }
    const LibraryFile& file = *known.file;
    MappedBlas one{.chosen = {},
                   .serves_blas = file.serves_blas,
                   .own_choice = !file.hands_on && !file.symbols.empty(),
                   .elsewhere = known.elsewhere};
    one.chosen.path = mapping.path;
    one.chosen.provider = file.provider;
    one.chosen.version = file.version;
    const auto bias = load_bias(file, mapping);
    if (bias && !file.hands_on) {
      int error = files.memory.valid() ? 0 : files.memory_error;
      one.chosen = core_in_memory(file, mapping.path, *bias, memory_of(files.memory.get(), error),
                                  fmt::format("process {}", pid));
      if (!files.memory.valid()) error = files.memory_error;
      if (error != 0 && one.chosen.core.empty())
        one.chosen.reason = fmt::format("its memory cannot be read: {}", std::strerror(error));
    }
    all.push_back(std::move(one));
  }
  return all;
}

Variables telling_variables(std::string_view environment) {
  Variables found;
  for (const std::string_view entry : split(environment, '\0')) {
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (shapes_blas(name) || names_job(name)) found.emplace_back(name, entry.substr(equals + 1));
  }
  return found;
}

}  // namespace hwprof::blas
