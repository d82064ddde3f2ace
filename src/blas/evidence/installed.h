// E0, what is said of a program's BLAS before it runs: the environment that shapes one, the
// libraries that this machine could give to a program, the one that the loader would give, and what
// the program's file names as needed. A claim, not yet a proof; nothing is loaded here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/model/blas.h"

namespace hwprof::blas {

// Folders in which the dynamic loader looks first (ld.so(8)).
inline constexpr char kLoaderPath[] = "LD_LIBRARY_PATH";

// Variables of this process that shape a BLAS.
std::map<std::string, std::string> blas_environment();

// What the dynamic loader knows, of every architecture, in its order: soname and file. Read once.
using LoaderCache = std::vector<std::pair<std::string, std::string>>;
const LoaderCache& loader_cache();
// Of the bytes of /etc/ld.so.cache; empty where they are none that glibc of this century writes.
LoaderCache parse_loader_cache(std::string_view bytes);

// The BLAS in a file; absent where there is none (library_file.h).
std::optional<report::InstalledBlas> installed_at(const std::string& path, std::string how,
                                                  std::string select = "");
// Every BLAS that LD_LIBRARY_PATH, the alternatives and the loader cache know, each file once.
// Provider and path are known; the rest only a library that is loaded can say.
std::vector<report::InstalledBlas> installed_blas();

// `command` as it would be executed: the first word is looked up in PATH. Never fails; what cannot
// be found out stays empty.
report::Declared declared(const std::vector<std::string>& command);
// Of a process that runs already: as it was started.
report::Declared declared_of(int pid);

}  // namespace hwprof::blas
