#include "counters/events/pfm.h"

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include <cstdlib>
#include <filesystem>

#include "src/base/text.h"

namespace hwprof::pfm {
namespace {

// Once; the library keeps no per-thread state, and the initialisation reads the environment.
bool initialized() {
  static const bool ok = pfm_initialize() == PFM_SUCCESS;
  return ok;
}

template <class Visit>
void for_each_pmu(Visit visit) {
  if (!initialized()) return;
  for (int pmu = 0; pmu < PFM_PMU_MAX; ++pmu) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(pmu), &info) == PFM_SUCCESS) visit(info);
  }
}

template <class Visit>
void for_each_event(const pfm_pmu_info_t& pmu, Visit visit) {
  for (int index = pmu.first_event; index != -1; index = pfm_get_event_next(index)) {
    pfm_event_info_t info{};
    info.size = sizeof info;
    if (pfm_get_event_info(index, PFM_OS_NONE, &info) == PFM_SUCCESS) visit(info);
  }
}

// "spr::INST_RETIRED:ANY" -> PMU "spr", event "INST_RETIRED".
struct Parts {
  std::string pmu, event;
};

Parts parts_of(std::string_view name) {
  Parts parts;
  const std::size_t mark = name.find("::");
  if (mark != std::string_view::npos) {
    parts.pmu = lower(name.substr(0, mark));
    name.remove_prefix(mark + 2);
  }
  parts.event = lower(name.substr(0, name.find_first_of(":.")));
  return parts;
}

std::vector<std::string> pmus_with(const std::string& name) {
  const Parts wanted = parts_of(name);
  std::vector<std::string> pmus;
  for_each_pmu([&](const pfm_pmu_info_t& pmu) {
    if (!wanted.pmu.empty() && wanted.pmu != lower(pmu.name)) return;
    bool found = false;
    for_each_event(pmu, [&](const pfm_event_info_t& event) {
      found = found || lower(event.name) == wanted.event;
    });
    if (found) pmus.emplace_back(pmu.name);
  });
  return pmus;
}

}  // namespace

Lookup look_up(const std::string& name) {
  Lookup lookup;
  if (!initialized()) {
    lookup.error = "libpfm4 could not be initialised";
    return lookup;
  }
  perf_event_attr attr{};
  attr.size = sizeof attr;
  char* full_name = nullptr;
  pfm_perf_encode_arg_t arg{};
  arg.attr = &attr;
  arg.fstr = &full_name;
  arg.size = sizeof arg;
  const int code =
      pfm_get_os_event_encoding(name.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
  if (full_name != nullptr) {
    // "...:e=0:i=0:u=1": the modifiers say nothing that the attributes do not.
    lookup.full_name = full_name;
    lookup.full_name.resize(std::min(lookup.full_name.size(), lookup.full_name.find(":e=")));
    lookup.full_name.resize(std::min(lookup.full_name.size(), lookup.full_name.find(":u=")));
    std::free(full_name);
  }
  if (code == PFM_SUCCESS) {
    lookup.answer = Answer::kEncoded;
    lookup.event.type = attr.type;
    lookup.event.config = attr.config;
    lookup.event.config1 = attr.config1;
    lookup.event.config2 = attr.config2;
    lookup.event.exclude_user = attr.exclude_user;
    lookup.event.exclude_kernel = attr.exclude_kernel;
    lookup.on_core_pmu = attr.type == PERF_TYPE_RAW;
    return lookup;
  }
  lookup.error = pfm_strerror(code);
  if (code == PFM_ERR_ATTR || code == PFM_ERR_ATTR_VAL || code == PFM_ERR_ATTR_SET ||
      code == PFM_ERR_FEATCOMB || code == PFM_ERR_UMASK) {
    lookup.answer = Answer::kBadAttribute;
    return lookup;
  }
  lookup.found_on = pmus_with(name);
  lookup.answer = lookup.found_on.empty() ? Answer::kNotFound : Answer::kOtherCpu;
  return lookup;
}

const std::string& version() {
  static const std::string text = [] {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&pfm_initialize), &info) == 0 || info.dli_fname == nullptr)
      return std::string("libpfm4");
    std::error_code error;
    const std::string file = std::filesystem::canonical(info.dli_fname, error).filename().string();
    // "libpfm.so.4.13.0" -> "4.13"
    const std::vector<std::string_view> parts = split(file, '.');
    if (parts.size() < 4 || parts[0] != "libpfm") return std::string("libpfm4");
    return "libpfm4 " + std::string(parts[2]) + "." + std::string(parts[3]);
  }();
  return text;
}

bool knows_this_cpu() {
  bool known = false;
  for_each_pmu([&](const pfm_pmu_info_t& pmu) {
    known = known || (pmu.is_present && pmu.type == PFM_PMU_TYPE_CORE);
  });
  return known;
}

const std::vector<std::string>& event_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for_each_pmu([&](const pfm_pmu_info_t& pmu) {
      if (!pmu.is_present) return;
      for_each_event(pmu, [&](const pfm_event_info_t& event) { all.emplace_back(event.name); });
    });
    return all;
  }();
  return names;
}

}  // namespace hwprof::pfm
