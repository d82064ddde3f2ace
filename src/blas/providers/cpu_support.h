// Why a library chose the core type that it did. Most choose by the number of the CPU's model, and
// take their oldest kernels for one that is newer than they are; all believe what the hypervisor
// shows. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/model/blas.h"
#include "src/model/machine.h"

namespace hwprof::blas {

// What a library can see of the CPU that it runs on.
struct VisibleCpu {
  CpuId id = {};
  std::vector<std::string> isa = {};  // as Machine::isa
  bool virtualized = false;
};
inline VisibleCpu visible_cpu(const Machine& machine) {
  return {machine.id, machine.isa, machine.virtualized};
}

// What the CPU shows that its model does not have, or hides that it has: "the hypervisor says model
// 167 (Intel Rocket Lake), but the CPU has AMX", "the hypervisor hides AVX-512, which each AMD
// Zen 4 has". "" where they agree, or the model is not in the table.
std::string odd_about(const VisibleCpu& cpu);

// Why a library chose kernels of `vectors`, narrower than those of this CPU; "" where that is not
// known.
std::string why_core(report::Provider provider, std::string_view version,
                     report::VectorClass vectors, const VisibleCpu& cpu);

}  // namespace hwprof::blas
