#include "src/blas/evidence/executed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "src/blas/evidence/libraries.h"

namespace hwprof::blas {
namespace {

using observe::HotSpot;
using observe::LoopWidth;
using observe::SampleProfile;

// Names of kernels and what stands around them; first match wins.
struct KernelName {
  const char* provider;
  std::string_view prefix;
};
constexpr std::array kKernelNames = {
    KernelName{"mkl", "mkl_"},        KernelName{"blis", "bli_"},
    KernelName{"atlas", "ATL_"},      KernelName{"onednn", "dnnl::"},
    KernelName{"onednn", "jit_avx"},  KernelName{"onednn", "jit_brgemm"},
    KernelName{"onednn", "jit_uni_"}, KernelName{"onednn", "jit_bnorm"},
    KernelName{"eigen", "Eigen::"},   KernelName{"eigen", "void Eigen::"},
};
// OpenBLAS: a type, an operation, and in builds for several CPUs the CPU: sgemm_kernel_HASWELL,
// dgemv_n_ZEN, sgemm_small_kernel_nn_SKYLAKEX, sgemm_direct_SKYLAKEX.
constexpr std::array<std::string_view, 8> kOpenblasKernels = {
    "gemm_kernel", "gemm_small",  "gemm_direct", "gemm_incopy",
    "gemm_itcopy", "gemm_oncopy", "gemm_otcopy", "gemm_beta"};

// Two variables that no program sets and every OpenBLAS reads (driver/others/openblas_env.c): a
// stripped program that holds both names has it linked in.
bool holds_openblas(const std::string& path) {
  return file_mentions(path, "OPENBLAS_BLOCK_FACTOR") && file_mentions(path, "GOTO_NUM_THREADS");
}

std::string provider_of(const std::string& path, const std::string& symbol) {
  if (path.starts_with('/')) {
    if (const auto file = identify_file(path)) return file->provider;
  }
  std::string provider = provider_of_symbol(symbol);
  if (!provider.empty()) return provider;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libdnnl")) return "onednn";
  if (name.starts_with("libmkl_")) return "mkl";  // kernels only: no sgemm_ of its own
  return path.starts_with('/') && holds_openblas(path) ? "openblas" : "";
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
  for (const HotSpot& spot : profile.spots) {
    if (spot.path != path || spot.loop.width != width) continue;
    fused[spot.loop.fma] += spot.samples;
    symbols[spot.symbol] += spot.samples;
    threads.insert(spot.threads.begin(), spot.threads.end());
  }
  loops.library = path;
  loops.symbol = *hottest(symbols);
  loops.provider = provider_of(path, loops.symbol);
  loops.width = to_text(width);
  loops.fma = *hottest(fused);
  loops.fraction = static_cast<double>(loops.samples) / static_cast<double>(profile.samples);
  loops.threads = static_cast<int>(threads.size());
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

}  // namespace

std::string provider_of_symbol(const std::string& symbol) {
  for (const KernelName& name : kKernelNames) {
    if (symbol.starts_with(name.prefix)) return name.provider;
  }
  if (symbol.empty() || std::string_view("sdczbh").find(symbol[0]) == std::string_view::npos) {
    return "";
  }
  const std::string_view operation = std::string_view(symbol).substr(1);
  const bool openblas =
      std::any_of(kOpenblasKernels.begin(), kOpenblasKernels.end(),
                  [&](std::string_view kernel) { return operation.starts_with(kernel); });
  return openblas ? "openblas" : "";
}

report::Executed executed(const SampleProfile& profile) {
  report::Executed executed;
  executed.samples = profile.samples;
  executed.lost = profile.lost;
  executed.frequency_hz = profile.hz;
  executed.notes = profile.notes;
  if (profile.samples == 0) {
    executed.reason =
        "no sample was taken: the program used less CPU time than one sampling period";
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
  executed.lines = profile.lines;
  executed.stacks = profile.stacks;
  return executed;
}

}  // namespace hwprof::blas
