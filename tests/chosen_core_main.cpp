// chosen_core_main LIBRARY: what a BLAS chooses on the CPU that it sees, and why by our table. Run
// under QEMU, where /proc/cpuinfo is that of the host: what the CPU is, CPUID says.
#include <cpuid.h>

#include <cstdio>

#include "kernels/blas_library.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/providers/cpu_support.h"

namespace {

hwprof::blas::VisibleCpu seen() {
  hwprof::blas::VisibleCpu cpu;
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(0, &a, &b, &c, &d);
  cpu.id.vendor = b == signature_AMD_ebx ? hwprof::Vendor::kAmd : hwprof::Vendor::kIntel;
  __get_cpuid(1, &a, &b, &c, &d);
  cpu.id.family = ((a >> 8) & 0xf) + ((a >> 8 & 0xf) == 0xf ? a >> 20 & 0xff : 0);
  cpu.id.model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
  if ((c & bit_AVX) != 0) cpu.isa.emplace_back("avx");
  if ((c & bit_FMA) != 0) cpu.isa.emplace_back("fma");
  __get_cpuid_count(7, 0, &a, &b, &c, &d);
  if ((b & bit_AVX2) != 0) cpu.isa.emplace_back("avx2");
  if ((b & bit_AVX512F) != 0) cpu.isa.emplace_back("avx512f");
  cpu.virtualized = true;
  return cpu;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto library = hwprof::BlasLibrary::load(argv[1]);
  if (!library) {
    std::puts(library.error().what.c_str());
    return 1;
  }
  const hwprof::blas::Identity identity = hwprof::blas::identify(*library);
  const hwprof::blas::VisibleCpu cpu = seen();
  std::printf("%s\n%s\n%s\n", identity.core.c_str(), odd_about(cpu).c_str(),
              why_core(identity.provider, identity.version, identity.vector_class, cpu).c_str());
}
