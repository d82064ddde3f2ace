#include "counters/machine.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "counters/machine/affinity.h"
#include "counters/machine/cpuinfo.h"
#include "counters/machine/pmu_device.h"
#include "counters/perf/capacity.h"
#include "src/base/text.h"

namespace hwprof {
namespace {

using Topology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

// Only what the report prints, from Linux's own files: the discovery of devices and hwloc's CPUID
// back end (which moves the thread to every CPU in turn) cost more than all the rest of the probe.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {nullptr, hwloc_topology_destroy};
  Topology topology(raw, hwloc_topology_destroy);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (hwloc_obj_type_t type :
       {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE, HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE})
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) topology.reset();
  return topology;
}

unsigned count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return static_cast<unsigned>(std::max(0, hwloc_get_nbobjs_by_type(topology, type)));
}

void read_topology(unsigned cpu, Machine& machine) {
  const Topology topology = load_topology();
  if (!topology) return;
  machine.packages = count_of(topology.get(), HWLOC_OBJ_PACKAGE);
  machine.cores = count_of(topology.get(), HWLOC_OBJ_CORE);
  machine.cpus = count_of(topology.get(), HWLOC_OBJ_PU);
  const hwloc_obj* object = hwloc_get_pu_obj_by_os_index(topology.get(), cpu);
  for (; object != nullptr; object = object->parent) {
    // Size 0: the kernel knows that there is one, and no more.
    if (!hwloc_obj_type_is_dcache(object->type) || object->attr->cache.size == 0) continue;
    machine.caches.push_back({static_cast<int>(object->attr->cache.depth), object->attr->cache.size,
                              static_cast<unsigned>(hwloc_bitmap_weight(object->cpuset))});
  }
}

std::string file_line(const char* path) {
  const auto text = read_text_file(path);
  return text ? std::string(trim(*text)) : std::string();
}

void read_virtualization(bool hypervisor_flag, Machine& machine) {
  if (hypervisor_flag) {
    machine.virtualized = true;
    machine.hypervisor = hypervisor_name(hypervisor_signature());
    return;
  }
  // No CPUID on arm64: firmware strings, Xen's and the device tree's word.
  const auto from_dmi = hypervisor_from_dmi(file_line("/sys/class/dmi/id/sys_vendor"),
                                            file_line("/sys/class/dmi/id/product_name"));
  if (from_dmi) {
    machine.virtualized = true;
    machine.hypervisor = *from_dmi;
  } else if (file_line("/sys/hypervisor/type") == "xen") {
    machine.virtualized = true;
    machine.hypervisor = "Xen";
  } else if (file_line("/proc/device-tree/compatible").find("dummy-virt") != std::string::npos) {
    machine.virtualized = true;
    machine.hypervisor = "QEMU";
  }
}

std::string why_no_pmu(const Machine& machine) {
  std::error_code error;
  if (!std::filesystem::exists(kEventSources, error))
    return fmt::format("no PMU can be seen: {} is missing (is /sys mounted?)", kEventSources);
  if (!machine.perf_event_paranoid) return "this kernel has no perf_event; timing continues";
  if (!machine.virtualized)
    return "this machine exposes no PMU; timing and software events continue";
  return fmt::format(
      "this machine exposes no PMU (a virtual machine{}); timing and software events continue",
      machine.hypervisor.empty() ? "" : " under " + machine.hypervisor);
}

}  // namespace

const PmuDevice* PmuInfo::for_cpu(unsigned cpu) const {
  const auto covers = [&](const PmuDevice& device) {
    return device.cpus.empty() ||
           std::find(device.cpus.begin(), device.cpus.end(), cpu) != device.cpus.end();
  };
  const auto found = std::find_if(devices.begin(), devices.end(), covers);
  return found == devices.end() ? nullptr : &*found;
}

Machine probe_machine(unsigned cpu) {
  Machine machine;
  if (utsname names{}; uname(&names) == 0) {
    machine.kernel = names.release;
    machine.arch = names.machine;
  }
  CpuInfo info = parse_cpuinfo(read_text_file("/proc/cpuinfo").value_or(""), cpu);
  machine.cpu_name = std::move(info.name);
  machine.id = info.id;
  machine.isa = std::move(info.isa);
  read_topology(cpu, machine);
  if (const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
      pages > 0 && size > 0)
    machine.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
  read_virtualization(info.hypervisor_flag, machine);

  machine.perf_event_paranoid = parse_int(file_line("/proc/sys/kernel/perf_event_paranoid"));
  if (const auto watchdog = parse_int(file_line("/proc/sys/kernel/nmi_watchdog")))
    machine.nmi_watchdog = *watchdog != 0;
  machine.pmu.devices = read_core_pmus(kEventSources);
  if (!machine.pmu.present()) {
    machine.pmu.reason = why_no_pmu(machine);
  } else {
    find_capacity(machine, cpu);
  }
  return machine;
}

}  // namespace hwprof
