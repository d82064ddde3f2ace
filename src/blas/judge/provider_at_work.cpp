#include "src/blas/judge/provider_at_work.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "src/observe/samples/sampling.h"

namespace hwprof::blas {
namespace {

// Provider of a file, as it was found mapped; kNone when it is none that matters.
Provider provider_of(const std::string& path, const report::BlasEvidence& evidence) {
  for (const report::LoadedLibrary& library : evidence.loaded) {
    if (library.path == path) return library.provider;
  }
  // Not seen mapped (too short a time), but named by its symbols.
  for (const report::LibraryLoops& loops : evidence.executed.loops) {
    if (loops.library == path) return loops.provider;
  }
  return Provider::kNone;
}

bool is_blas(Provider provider) { return is_known(provider) && facts(provider).is_blas; }

// FLOP say more than counts; calls without a shape to count them by still count.
double weight(const report::CallSite& site) {
  return site.flops.value_or(0) + static_cast<double>(site.count);
}

struct Work {
  double weight = 0;
  double flops = 0;  // infinite where calls have no shape to count them by
  std::string path;  // of the heaviest
  double heaviest = 0;
};

std::map<Provider, Work> work_by_provider(const report::BlasEvidence& evidence) {
  std::map<Provider, Work> all;
  for (const report::CallSite& site : evidence.called.calls) {
    Provider provider = provider_of(site.library, evidence);
    if (!is_known(provider)) provider = Provider::kUnknown;
    if (!is_blas(provider)) continue;
    Work& work = all[provider];
    work.weight += weight(site);
    work.flops += site.flops.value_or(std::numeric_limits<double>::infinity());
    if (weight(site) >= work.heaviest) {
      work.heaviest = weight(site);
      work.path = site.library;
    }
  }
  return all;
}

struct Shares {
  std::map<Provider, Work> blas;  // by provider; weight is the share
  double onednn = 0, generated = 0;
};

Shares shares_of(const report::BlasEvidence& evidence) {
  Shares shares;
  for (const report::SampleShare& share : evidence.executed.by_library) {
    if (share.name == observe::kGeneratedCode) {
      shares.generated += share.fraction;
      continue;
    }
    const Provider provider = provider_of(share.name, evidence);
    if (provider == Provider::kOneDnn) shares.onednn += share.fraction;
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

auto heaviest(const std::map<Provider, Work>& all) {
  return std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.weight < b.second.weight;
  });
}

bool is_loaded(Provider provider, const report::BlasEvidence& evidence) {
  return std::any_of(evidence.loaded.begin(), evidence.loaded.end(),
                     [&](const auto& library) { return library.provider == provider; });
}

// A library without a name of its own is the program itself: nothing can watch the calls in it.
bool is_inside_program(const std::string& path, const report::BlasEvidence& evidence) {
  return std::any_of(evidence.loaded.begin(), evidence.loaded.end(), [&](const auto& library) {
    return library.path == path && library.serves_blas && library.soname.empty();
  });
}

void choose_provider(const report::BlasEvidence& evidence, const Thresholds& thresholds,
                     const Shares& shares, ProviderAtWork& work) {
  const auto calls = work_by_provider(evidence);
  const auto called = heaviest(calls);
  const auto hot = heaviest(shares.blas);
  const double hot_share = work.sampled && hot != shares.blas.end() ? hot->second.weight : 0;
  // Where calls are watched and none was seen, a little time is that of threads that wait.
  const bool unseen = evidence.called.how != "none" && calls.empty();
  const double needed =
      !calls.empty() ? thresholds.deciding_share
      : unseen && !is_inside_program(hot_share > 0 ? hot->second.path : "", evidence)
          ? thresholds.notable_share
          : thresholds.negligible_share;
  if (hot_share >= needed) {
    work.library.provider = hot->first;
    const auto same = calls.find(hot->first);
    work.library.path = same != calls.end() ? same->second.path : hot->second.path;
  } else if (called != calls.end() && called->second.flops >= thresholds.least_flops) {
    work.library.provider = called->first;
    work.library.path = called->second.path;
  }
  if (const auto own = shares.blas.find(work.library.provider); own != shares.blas.end()) {
    work.blas_share = own->second.weight;
  }
}

// Of the provider's files the one that served, else any that says its core.
const report::ChosenCore* core_of(const ProviderAtWork& work,
                                  const report::BlasEvidence& evidence) {
  const report::ChosenCore* best = nullptr;
  const auto rank = [&](const report::ChosenCore& core) {
    return (core.core.empty() ? 0 : 4) +
           (work.loops != nullptr && core.path == work.loops->library ? 2 : 0) +
           (core.path == work.library.path ? 1 : 0);
  };
  for (const report::ChosenCore& core : evidence.chosen_cores) {
    if (core.provider != work.library.provider || !is_known(core.provider)) continue;
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

ProviderAtWork provider_at_work(const report::BlasEvidence& evidence,
                                const Thresholds& thresholds) {
  ProviderAtWork work;
  const report::Executed& executed = evidence.executed;
  work.sampled = executed.samples >= thresholds.enough_samples;
  const Shares shares = shares_of(evidence);
  choose_provider(evidence, thresholds, shares, work);
  work.loops = first_of(executed, [&](const report::LibraryLoops& loops) {
    return is_known(work.library.provider) &&
           provider_of(loops.library, evidence) == work.library.provider;
  });
  if (const report::ChosenCore* chosen = core_of(work, evidence)) {
    work.chosen_in = chosen->path;
    work.library.version = chosen->version;
    work.library.core = chosen->core;
    work.library.vector_class = chosen->vector_class;
    work.library.threads = work.chosen_threads = chosen->threads;
  }
  if (work.loops != nullptr) work.library.threads = work.loops->threads;

  const auto of_onednn = [&](const report::LibraryLoops& loops) {
    return provider_of(loops.library, evidence) == Provider::kOneDnn ||
           loops.provider == Provider::kOneDnn;
  };
  work.onednn = is_loaded(Provider::kOneDnn, evidence) ||
                std::any_of(executed.loops.begin(), executed.loops.end(), of_onednn);
  if (work.sampled) work.other_share = shares.onednn + shares.generated;
  if (work.other_share > 0) {
    work.other = shares.generated < shares.onednn ? "oneDNN"
                 : work.onednn                    ? "oneDNN code generated at run time"
                                                  : "code generated at run time";
  }
  work.other_loops = first_of(executed, [&](const report::LibraryLoops& loops) {
    return loops.library == observe::kGeneratedCode || of_onednn(loops);
  });
  return work;
}

std::string library_to_measure(const report::BlasEvidence& evidence) {
  const ProviderAtWork work = provider_at_work(evidence);
  if (!is_known(work.library.provider)) return "";
  // A program that was linked statically cannot be loaded; neither can a part of MKL.
  const auto loadable = [&](const std::string& path) {
    return std::any_of(evidence.loaded.begin(), evidence.loaded.end(), [&](const auto& library) {
      return library.path == path && library.serves_blas && !library.soname.empty();
    });
  };
  if (loadable(work.library.path)) return work.library.path;
  return loadable(work.chosen_in) ? work.chosen_in : "";
}

}  // namespace hwprof::blas
