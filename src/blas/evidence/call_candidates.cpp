#include "src/blas/evidence/call_candidates.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/providers/providers.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/proc/program_file.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;

// Libraries beside those of the providers that programs open by name.
constexpr std::string_view kOpenedByName[] = {"libcblas", "libtorch_cpu", "libblas", "liblapack"};

// Where Python packages keep the libraries that they bring along, below site-packages.
constexpr std::array<std::string_view, 14> kPackageFolders = {
    "torch/lib",
    "numpy/core",
    "numpy/_core",
    "numpy/linalg",
    "scipy/linalg",
    "scipy_openblas32/lib",
    "scipy_openblas64/lib",
    "tensorflow",
    "tensorflow/python",
    "jaxlib",
    "onnxruntime/capi",
    "ctranslate2",
    "sklearn/utils",
    "faiss",
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

class Search {
 public:
  CommandFiles run(const std::vector<std::string>& command) {
    if (!command.empty()) add_command(command);
    std::string preloaded = environment("LD_PRELOAD");
    std::replace(preloaded.begin(), preloaded.end(), ' ', ':');  // ld.so(8): either separates
    for (const std::string_view part : split(preloaded, ':')) add_file(part);
    for (const report::InstalledBlas& installed : installed_blas())
      add_with_needed(installed.path, {});
    for (const auto& [name, path] : cache_) {
      if (is_kernel_file_name(name) || starts_with_any(name, kOpenedByName)) add_file(path);
    }
    const std::string loader_path = environment(kLoaderPath);
    for (const std::string_view folder : split(loader_path, ':')) {
      if (folder.empty()) continue;
      for_each_entry(folder, [&](const fs::path& path) {
        if (is_blas_name(path.filename().native())) add_file(path);
      });
    }
    return std::move(found_);
  }

 private:
  void add_command(const std::vector<std::string>& command) {
    if (const auto program = find_program(command[0])) add_program(*program, 0, true);
    // Wrappers run programs that their arguments name, shells those in a text of several words.
    constexpr std::size_t kMostWords = 64;
    std::size_t words = 0;
    for (std::size_t i = 1; i < command.size() && words < kMostWords; ++i) {
      for (const std::string_view word : split(command[i], ' ')) {
        if (word.empty() || word.starts_with('-') || ++words > kMostWords) continue;
        if (const auto program = find_program(std::string(word))) add_program(*program, 0, false);
      }
    }
  }

  void add_program(const fs::path& path, int depth, bool first) {
    constexpr int kMostScripts = 5;
    std::error_code error;
    const fs::path resolved = fs::canonical(path, error);
    if (error || depth > kMostScripts) return;
    if (path.filename().string().starts_with("python") ||
        resolved.filename().string().starts_with("python")) {
      add_python(path, resolved);
    }
    std::array<char, 512> head{};
    const UniqueFd file(::open(resolved.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    const ssize_t got = file.valid() ? ::read(file.get(), head.data(), head.size() - 1) : -1;
    if (got >= 2 && head[0] == '#' && head[1] == '!') {
      return add_interpreter(std::string_view(head.data() + 2), depth, first);
    }
    const observe::ElfFile elf(file.get());
    if (!elf.valid()) return;
    if (first) {
      struct stat status {};
      found_.program = resolved;
      found_.interpreter = elf.interpreter();
      found_.setuid = ::fstat(file.get(), &status) == 0 &&
                      (status.st_mode & (S_ISUID | S_ISGID)) != 0 && status.st_uid != ::geteuid();
    }
    add_with_needed(resolved, {});
  }

  // "#!/usr/bin/env -S python3 -u": any word may be the program.
  void add_interpreter(std::string_view line, int depth, bool first) {
    line = line.substr(0, line.find('\n'));
    bool is_first = first;
    for (const std::string_view word : split(line, ' ')) {
      if (word.empty() || word.starts_with('-')) continue;
      if (const auto program = find_program(std::string(word))) {
        const bool env = fs::path(*program).filename() == "env";
        add_program(*program, depth + 1, is_first && !env);
        if (!env) is_first = false;
      }
    }
  }

  // A virtual environment's interpreter is a link; its packages stand beside the link.
  void add_python(const fs::path& path, const fs::path& resolved) {
    std::error_code error;
    for (const fs::path& program : {fs::absolute(path, error), resolved}) {
      const fs::path prefix = program.parent_path().parent_path();
      add_prefix(prefix);
      std::ifstream config(prefix / "pyvenv.cfg");
      for (std::string line; std::getline(config, line);) {
        const auto equals = line.find('=');
        if (equals != std::string::npos && trim(line.substr(0, equals)) == "home") {
          add_prefix(fs::path(trim(std::string_view(line).substr(equals + 1))).parent_path());
        }
      }
      // pyenv's programs are scripts that run one of its versions.
      if (program.parent_path().filename() == "shims") {
        for_each_entry(prefix / "versions", [&](const fs::path& version) { add_prefix(version); });
      }
    }
    if (const std::string home = environment("HOME"); !home.empty()) {
      add_prefix(fs::path(home) / ".local");
    }
    const std::string extra = environment("PYTHONPATH");
    for (const std::string_view folder : split(extra, ':')) {
      if (!folder.empty()) add_packages(folder);
    }
  }

  void add_prefix(const fs::path& prefix) {
    if (!prefixes_.insert(prefix).second) return;
    for (const char* lib : {"lib", "lib64", "local/lib"}) {
      for_each_entry(prefix / lib, [&](const fs::path& entry) {
        const std::string name = entry.filename();
        if (name.starts_with("python3")) {
          add_packages(entry / "site-packages");
          add_packages(entry / "dist-packages");
        }
        // conda keeps its BLAS here. The system's folder is the business of the loader cache.
        if (prefix != "/usr" && prefix != "/" && is_blas_name(name)) add_file(entry);
      });
    }
  }

  void add_packages(const fs::path& folder) {
    const std::string resolved = fs::path(folder);
    if (!prefixes_.insert(resolved).second) return;
    for_each_entry(folder, [&](const fs::path& entry) {
      if (entry.extension() == ".libs") add_libraries(entry);  // numpy.libs, scipy.libs
    });
    for (const std::string_view package : kPackageFolders) add_libraries(folder / package);
  }

  void add_libraries(const fs::path& folder) {
    for_each_entry(folder, [&](const fs::path& entry) {
      if (entry.filename().string().find(".so") != std::string::npos) add_file(entry);
    });
  }

  static bool is_blas_name(std::string_view name) {
    return name.find("blas") != std::string_view::npos ||
           name.find("lapack") != std::string_view::npos || is_blas_file_name(name) ||
           is_kernel_file_name(name);
  }

  void for_each_entry(const fs::path& folder, const auto& action) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      action(entry->path());
    }
  }

  void add_file(const fs::path& path) {
    std::error_code error;
    const fs::path resolved = fs::canonical(path, error);
    if (!error && is_file(resolved) && seen_.insert(resolved).second) {
      found_.candidates.push_back(resolved);
    }
  }

  // A file and what the dynamic loader will load for it (ld.so(8)): DT_RPATH, LD_LIBRARY_PATH,
  // DT_RUNPATH, the cache. `inherited`: DT_RPATH of the files above.
  void add_with_needed(const fs::path& path, const std::vector<std::string>& inherited) {
    add_file(path);
    if (!walked_.insert(path).second) return;
    const observe::ElfFile elf(path.string());
    if (!elf.is_native()) return;
    const observe::RunPath run_path = elf.run_path();
    std::vector<std::string> own;
    for (std::string folder : run_path.folders) {
      for (const std::string_view origin : {"${ORIGIN}", "$ORIGIN"}) {
        if (const auto place = folder.find(origin); place != std::string::npos) {
          folder.replace(place, origin.size(), path.parent_path().string());
        }
      }
      own.push_back(std::move(folder));
    }
    std::vector<std::string> below = inherited;
    if (run_path.inherited) below.insert(below.begin(), own.begin(), own.end());
    std::vector<std::string> folders = run_path.inherited ? below : inherited;
    const std::string loader_path = environment(kLoaderPath);
    for (const std::string_view folder : split(loader_path, ':')) folders.emplace_back(folder);
    if (!run_path.inherited) folders.insert(folders.end(), own.begin(), own.end());
    for (const std::string& name : elf.needed()) {
      if (const auto library = find_library(name, folders)) add_with_needed(*library, below);
    }
  }

  std::optional<fs::path> find_library(const std::string& name,
                                       const std::vector<std::string>& folders) {
    std::error_code error;
    const auto resolved = [&](const fs::path& path) -> std::optional<fs::path> {
      const fs::path found = fs::canonical(path, error);
      return !error && is_file(found) ? std::optional(found) : std::nullopt;
    };
    if (name.find('/') != std::string::npos) return resolved(name);
    for (const std::string& folder : folders) {
      if (folder.empty()) continue;
      if (auto found = resolved(fs::path(folder) / name)) return found;
    }
    const auto known = cache_.find(name);
    return known != cache_.end() ? resolved(known->second) : std::nullopt;
  }

  CommandFiles found_;
  // "libblas.so.3" -> file; of several the first.
  std::map<std::string, std::string> cache_{loader_cache().begin(), loader_cache().end()};
  std::set<fs::path> seen_, walked_;
  std::set<std::string> prefixes_;
};

}  // namespace

CommandFiles command_files(const std::vector<std::string>& command) {
  return Search().run(command);
}

}  // namespace hwprof::blas
