#include "src/blas/evidence/executed.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "src/blas/evidence/library_file.h"
#include "src/blas/providers/providers.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/routines/blas_routine.h"

namespace hwprof::blas {
namespace {

using observe::HotSpot;
using observe::LoopWidth;
using observe::SampleProfile;

Provider provider_of(const std::string& path, const std::string& symbol) {
  const bool is_file = path.starts_with('/');
  if (is_file) {
    if (const auto file = identify_file(path)) return file->provider;
  }
  const Provider by_symbol = provider_of_symbol(symbol);
  if (by_symbol != Provider::kNone) return by_symbol;
  const std::string name = path.substr(path.rfind('/') + 1);
  const Provider by_name = find_provider(
      [&](const ProviderFacts& row) { return starts_with_any(name, row.kernel_files); });
  if (by_name != Provider::kNone || !is_file) return by_name;
  // A stripped program that holds both names has the library linked in.
  return find_provider([&](const ProviderFacts& row) {
    const auto& [one, other] = row.variables_of_its_own;
    return !one.empty() && file_mentions(path, std::string(one)) &&
           file_mentions(path, std::string(other));
  });
}

std::vector<report::SampleShare> shares(
    const std::map<std::pair<std::string, std::string>, std::uint64_t>& counts, std::uint64_t all) {
  std::vector<report::SampleShare> list;
  for (const auto& [name, samples] : counts) {
    list.push_back({name.first, name.second, samples,
                    static_cast<double>(samples) / static_cast<double>(all)});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.samples > b.samples; });
  return list;
}

// Code in which a thread waits for others, by parts of the names of its file and its symbol.
struct WaitingCode {
  std::string_view file, symbol;
};
constexpr WaitingCode kWaitingCode[] = {
    {"", "sched_yield"},         // idle threads of OpenBLAS
    {"", "blas_thread_server"},  // their loop, where the file keeps its name
    {"", "futex"},
    {"", "lll_lock_wait"},
    {"", "pthread_cond_"},
    {"", "barrier_wait"},  // pthread's, and libgomp's gomp_team_barrier_wait
    {"libgomp", "gomp_mutex_lock_slow"},
    {"libgomp", "do_spin"},
    {"libgomp", "do_wait"},
    {"omp", "kmp_wait"},  // libomp, libiomp5
    {"omp", "kmp_flag"},
    {"omp", "kmp_hyper_barrier"},
    {"omp", "kmp_fork_barrier"},
    {"omp", "kmp_join_barrier"},
    {"[kernel]", "libgomp"},  // a stripped one calls it for nothing but futexes
};

bool waits(const report::SampleShare& share) {
  const std::string file = share.library.substr(share.library.rfind('/') + 1);
  // Distributions strip libgomp; what of it has no name and takes time are its spins at barriers.
  if (share.name.empty()) return file.starts_with("libgomp");
  return std::any_of(std::begin(kWaitingCode), std::end(kWaitingCode), [&](const auto& code) {
    return file.find(code.file) != std::string::npos &&
           share.name.find(code.symbol) != std::string::npos;
  });
}

// The entry with most; absent when there is none.
template <class Key>
const Key* hottest(const std::map<Key, std::uint64_t>& counts) {
  const auto found =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return found != counts.end() ? &found->first : nullptr;
}

// `path` has samples in loops that compute.
report::LibraryLoops loops_of(const SampleProfile& profile, const std::string& path) {
  report::LibraryLoops loops;
  std::map<LoopWidth, std::uint64_t> widths;
  for (const HotSpot& spot : profile.spots) {
    if (spot.path != path) continue;
    loops.samples += spot.samples;
    if (is_arithmetic(spot.loop.width)) widths[spot.loop.width] += spot.samples;
  }
  const LoopWidth width = *hottest(widths);
  std::map<bool, std::uint64_t> fused;
  std::map<std::string, std::uint64_t> symbols;
  std::set<int> threads;
  std::uint64_t samples = 0, beside = 0;
  for (const HotSpot& spot : profile.spots) {
    if (spot.path != path || spot.loop.width != width) continue;
    fused[spot.loop.fma] += spot.samples;
    symbols[spot.symbol] += spot.samples;
    threads.insert(spot.threads.begin(), spot.threads.end());
    samples += spot.samples;
    beside += spot.beside;
  }
  loops.library = path;
  loops.symbol = *hottest(symbols);
  loops.symbol_fraction =
      static_cast<double>(symbols[loops.symbol]) / static_cast<double>(profile.samples);
  loops.provider = provider_of(path, loops.symbol);
  loops.width = to_text(width);
  loops.fma = *hottest(fused);
  loops.fraction = static_cast<double>(loops.samples) / static_cast<double>(profile.samples);
  loops.threads = static_cast<int>(threads.size());
  loops.at_once = std::min(1 + static_cast<double>(beside) / static_cast<double>(samples),
                           static_cast<double>(loops.threads));
  return loops;
}

// By samples in loops that compute: an interpreter may take more time than the product that it
// calls.
std::vector<report::LibraryLoops> computing_files(const SampleProfile& profile) {
  std::map<std::string, std::uint64_t> computing;
  for (const HotSpot& spot : profile.spots) {
    if (is_arithmetic(spot.loop.width)) computing[spot.path] += spot.samples;
  }
  std::vector<report::LibraryLoops> all;
  for (const auto& [path, samples] : computing) all.push_back(loops_of(profile, path));
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return computing[a.library] > computing[b.library];
  });
  return all;
}

// What languages and Fourier transforms (FFTW, numpy's, scipy's) are made of holds no BLAS, and is
// stripped as a rule; by how the file's name begins.
constexpr std::string_view kRuntimes[] = {"libc.",      "libm.",      "libmvec.",     "libstdc++.",
                                          "libgcc_",    "libgomp.",   "libgfortran.", "libfftw3",
                                          "_pocketfft", "pypocketfft"};

bool is_runtime(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::any_of(std::begin(kRuntimes), std::end(kRuntimes),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

// Its products are those of that other one: the linker would have taken one of its own.
bool takes_routines(const std::string& path) {
  bool takes = false;
  observe::ElfFile(path).each_symbol(SHT_DYNSYM, [&](const observe::ElfSymbol& symbol) {
    observe::Routine routine;
    takes = takes || (!symbol.defined && observe::find_routine(symbol.name, routine));
  });
  return takes;
}

// What a BLAS without names that is linked into a program or library would look like.
std::vector<report::SampleShare> unnamed_products(const SampleProfile& profile) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> files;
  for (const HotSpot& spot : profile.spots) {
    if (spot.loop.products && spot.symbol.empty() && spot.path.starts_with('/'))
      files[{spot.path, ""}] += spot.samples;
  }
  std::erase_if(files, [](const auto& file) {
    const std::string& path = file.first.first;
    const Provider provider = provider_of(path, "");
    const bool no_blas = is_known(provider) && !facts(provider).is_blas;
    return no_blas || is_runtime(path) || takes_routines(path);
  });
  return shares(files, profile.samples);
}

}  // namespace

report::Executed executed(const SampleProfile& profile) {
  report::Executed executed;
  executed.samples = profile.samples;
  executed.lost = profile.lost;
  executed.frequency_hz = profile.hz;
  executed.notes = profile.notes;
  if (profile.samples == 0) {
    executed.reason = "no sample was taken: no thread used as much CPU time as one sampling period";
    return executed;
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> libraries, symbols, widths;
  for (const HotSpot& spot : profile.spots) {
    libraries[{spot.path, ""}] += spot.samples;
    symbols[{spot.symbol, spot.path}] += spot.samples;
    widths[{std::string(to_text(spot.loop.width)), ""}] += spot.samples;
  }
  executed.by_library = shares(libraries, profile.samples);
  executed.by_symbol = shares(symbols, profile.samples);
  executed.vector_width = shares(widths, profile.samples);
  executed.loops = computing_files(profile);
  std::copy_if(executed.by_symbol.begin(), executed.by_symbol.end(),
               std::back_inserter(executed.waiting), waits);
  executed.unnamed_products = unnamed_products(profile);
  executed.lines = profile.lines;
  executed.stacks = profile.stacks;
  executed.placed = profile.placed;
  executed.whole_stacks = profile.whole_stacks;
  return executed;
}

}  // namespace hwprof::blas
