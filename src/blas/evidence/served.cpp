#include "src/blas/evidence/served.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "src/observe/samples/sampling.h"

namespace hwprof::blas {
namespace {

constexpr const char* kOneDnn = "onednn";

// Provider of a file, as it was found mapped; "" when it is none that matters.
std::string provider_of(const std::string& path, const report::BlasEvidence& evidence) {
  for (const report::LoadedLibrary& library : evidence.loaded) {
    if (library.path == path) return library.provider;
  }
  // Not seen mapped (too short a time), but named by its symbols.
  for (const report::LibraryLoops& loops : evidence.executed.loops) {
    if (loops.library == path) return loops.provider;
  }
  return "";
}

// Eigen's products are templates in the program, which nobody can exchange.
bool is_blas(const std::string& provider) {
  return !provider.empty() && provider != kOneDnn && provider != "eigen";
}

// FLOP say more than counts; calls without a shape to count them by still count.
double weight(const report::CallSite& site) {
  return site.flops.value_or(0) + static_cast<double>(site.count);
}

struct Work {
  double weight = 0;
  std::uint64_t calls = 0;
  double flops = 0;  // infinite where calls have no shape to count them by
  std::string path;  // of the heaviest
  double heaviest = 0;
};

std::map<std::string, Work> work_by_provider(const report::BlasEvidence& evidence) {
  std::map<std::string, Work> all;
  for (const report::CallSite& site : evidence.called.calls) {
    std::string provider = provider_of(site.library, evidence);
    if (provider.empty()) provider = "unknown";
    if (!is_blas(provider)) continue;
    Work& work = all[provider];
    work.weight += weight(site);
    work.calls += site.count;
    work.flops += site.flops.value_or(std::numeric_limits<double>::infinity());
    if (weight(site) >= work.heaviest) {
      work.heaviest = weight(site);
      work.path = site.library;
    }
  }
  return all;
}

struct Shares {
  std::map<std::string, Work> blas;  // by provider; weight is the share
  double onednn = 0, generated = 0;
};

Shares shares_of(const report::BlasEvidence& evidence) {
  Shares shares;
  for (const report::SampleShare& share : evidence.executed.by_library) {
    if (share.name == observe::kGeneratedCode) {
      shares.generated += share.fraction;
      continue;
    }
    const std::string provider = provider_of(share.name, evidence);
    if (provider == kOneDnn) shares.onednn += share.fraction;
    if (!is_blas(provider)) continue;
    Work& work = shares.blas[provider];
    work.weight += share.fraction;
    if (share.fraction >= work.heaviest) {
      work.heaviest = share.fraction;
      work.path = share.name;
    }
  }
  return shares;
}

auto heaviest(const std::map<std::string, Work>& all) {
  return std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.weight < b.second.weight;
  });
}

bool is_loaded(const char* provider, const report::BlasEvidence& evidence) {
  return std::any_of(evidence.loaded.begin(), evidence.loaded.end(),
                     [&](const auto& library) { return library.provider == provider; });
}

// A library without a name of its own is the program itself: nothing can watch the calls in it.
bool is_inside_program(const std::string& path, const report::BlasEvidence& evidence) {
  return std::any_of(evidence.loaded.begin(), evidence.loaded.end(), [&](const auto& library) {
    return library.path == path && library.serves_blas && library.soname.empty();
  });
}

void choose_provider(const report::BlasEvidence& evidence, const RunThresholds& thresholds,
                     const Shares& shares, Served& served) {
  const auto calls = work_by_provider(evidence);
  const auto called = heaviest(calls);
  const auto hot = heaviest(shares.blas);
  const double hot_share = served.sampled && hot != shares.blas.end() ? hot->second.weight : 0;
  // Where calls are watched and none was seen, a little time is that of threads that wait.
  const bool unseen = evidence.called.how != "none" && calls.empty();
  const double needed =
      !calls.empty() ? thresholds.deciding_share
      : unseen && !is_inside_program(hot_share > 0 ? hot->second.path : "", evidence)
          ? thresholds.notable_share
          : thresholds.negligible_share;
  if (hot_share >= needed) {
    served.provider = hot->first;
    const auto same = calls.find(hot->first);
    served.path = same != calls.end() ? same->second.path : hot->second.path;
  } else if (called != calls.end() && called->second.flops >= thresholds.least_flops) {
    served.provider = called->first;
    served.path = called->second.path;
  }
  if (const auto own = calls.find(served.provider); own != calls.end()) {
    served.calls = own->second.calls;
  }
  if (const auto own = shares.blas.find(served.provider); own != shares.blas.end()) {
    served.blas_share = own->second.weight;
  }
}

// Of the provider's files the one that served, else any that says its core.
const report::SelectedCore* core_of(const Served& served, const report::BlasEvidence& evidence) {
  const report::SelectedCore* best = nullptr;
  const auto rank = [&](const report::SelectedCore& core) {
    return (core.core.empty() ? 0 : 4) +
           (served.loops != nullptr && core.path == served.loops->library ? 2 : 0) +
           (core.path == served.path ? 1 : 0);
  };
  for (const report::SelectedCore& core : evidence.selected) {
    if (core.provider != served.provider || served.provider.empty()) continue;
    if (best == nullptr || rank(core) > rank(*best)) best = &core;
  }
  return best;
}

// The hottest of those that `wanted` takes.
template <class Wanted>
const report::LibraryLoops* first_of(const report::Executed& executed, const Wanted& wanted) {
  const auto found = std::find_if(executed.loops.begin(), executed.loops.end(), wanted);
  return found != executed.loops.end() ? &*found : nullptr;
}

}  // namespace

Served who_served(const report::BlasEvidence& evidence, const RunThresholds& thresholds) {
  Served served;
  const report::Executed& executed = evidence.executed;
  served.sampled = executed.samples >= thresholds.enough_samples;
  const Shares shares = shares_of(evidence);
  choose_provider(evidence, thresholds, shares, served);
  served.loops = first_of(executed, [&](const report::LibraryLoops& loops) {
    return !served.provider.empty() && provider_of(loops.library, evidence) == served.provider;
  });
  served.core = core_of(served, evidence);

  const auto of_onednn = [&](const report::LibraryLoops& loops) {
    return provider_of(loops.library, evidence) == kOneDnn || loops.provider == kOneDnn;
  };
  const bool onednn = is_loaded(kOneDnn, evidence) ||
                      std::any_of(executed.loops.begin(), executed.loops.end(), of_onednn);
  if (served.sampled) served.other_share = shares.onednn + shares.generated;
  if (served.other_share > 0) {
    served.other = shares.generated < shares.onednn ? "oneDNN"
                   : onednn                         ? "oneDNN code generated at run time"
                                                    : "code generated at run time";
  }
  served.other_loops = first_of(executed, [&](const report::LibraryLoops& loops) {
    return loops.library == observe::kGeneratedCode || of_onednn(loops);
  });
  return served;
}

std::string file_label(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find(".so"));
}

std::string library_to_measure(const report::BlasEvidence& evidence) {
  const Served served = who_served(evidence, {});
  if (served.provider.empty()) return "";
  // A program that was linked statically cannot be loaded; neither can a part of MKL.
  const auto loadable = [&](const std::string& path) {
    return std::any_of(evidence.loaded.begin(), evidence.loaded.end(), [&](const auto& library) {
      return library.path == path && library.serves_blas && !library.soname.empty();
    });
  };
  if (loadable(served.path)) return served.path;
  return served.core != nullptr && loadable(served.core->path) ? served.core->path : "";
}

}  // namespace hwprof::blas
