#include "counters/machine/cpuinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kSapphireRapids =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
    "model name\t: Intel(R) Xeon(R) Platinum 8480+\nstepping\t: 8\n"
    "flags\t\t: fpu amx_tile avx512f sse2 avx2 fma hypervisor avx sse4_2 avx512_vnni\n\n"
    "processor\t: 1\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
    "model name\t: Intel(R) Xeon(R) Platinum 8480+\nstepping\t: 8\nflags\t\t: sse2\n\n";

constexpr std::string_view kBigLittle =
    "processor\t: 0\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd crc32\nCPU implementer\t: 0x41\n"
    "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd03\nCPU revision\t: 4\n\n"
    "processor\t: 4\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd asimddp sve sve2\n"
    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n"
    "CPU revision\t: 1\n\nHardware\t: something\n";

TEST(CpuInfo, X86IsKnownByFamilyAndModel) {
  const CpuInfo info = parse_cpuinfo(kSapphireRapids, 0);
  EXPECT_EQ(info.name, "Intel(R) Xeon(R) Platinum 8480+");
  EXPECT_EQ(info.id.vendor, Vendor::kIntel);
  EXPECT_EQ(info.id.family, 6u);
  EXPECT_EQ(info.id.model, 143u);
  EXPECT_EQ(info.id.stepping, 8u);
  EXPECT_TRUE(info.hypervisor_flag);
}

TEST(CpuInfo, InstructionSetsAscendWhateverTheOrderOfTheFlags) {
  EXPECT_THAT(
      parse_cpuinfo(kSapphireRapids, 0).isa,
      ElementsAre("sse2", "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "amx_tile"));
}

TEST(CpuInfo, EachCpuHasItsOwnEntry) {
  EXPECT_THAT(parse_cpuinfo(kSapphireRapids, 1).isa, ElementsAre("sse2"));
  EXPECT_FALSE(parse_cpuinfo(kSapphireRapids, 1).hypervisor_flag);
  EXPECT_EQ(parse_cpuinfo(kBigLittle, 0).name, "Arm Cortex-A53");
  const CpuInfo big = parse_cpuinfo(kBigLittle, 4);
  EXPECT_EQ(big.name, "Arm Neoverse V2");
  EXPECT_EQ(big.id.vendor, Vendor::kArm);
  EXPECT_EQ(big.id.family, 0x41u);
  EXPECT_EQ(big.id.model, 0xd4fu);
  EXPECT_THAT(big.isa, ElementsAre("neon", "neon_dotprod", "sve", "sve2"));
}

TEST(CpuInfo, AMissingCpuFallsBackToTheFirst) {
  EXPECT_EQ(parse_cpuinfo(kBigLittle, 77).name, "Arm Cortex-A53");
}

TEST(CpuInfo, AnUnknownArmPartKeepsItsNumbers) {
  const CpuInfo info =
      parse_cpuinfo("processor : 0\nCPU implementer : 0x51\nCPU part : 0xabc\n", 0);
  EXPECT_EQ(info.name, "arm64 implementer 0x51 part 0xabc");
  EXPECT_EQ(info.id.vendor, Vendor::kOther);
}

TEST(CpuInfo, GarbageIsNothing) {
  for (const char* text : {"", "\n\n\n", "no colon here", ":\n:\n", "processor\n"}) {
    const CpuInfo info = parse_cpuinfo(text, 0);
    EXPECT_EQ(info.name, "") << text;
    EXPECT_EQ(info.id.vendor, Vendor::kOther) << text;
    EXPECT_THAT(info.isa, IsEmpty()) << text;
  }
}

TEST(CpuInfo, HypervisorsAreNamed) {
  EXPECT_EQ(hypervisor_name(std::string_view("KVMKVMKVM\0\0\0", 12)), "KVM");
  EXPECT_EQ(hypervisor_name("Microsoft Hv"), "Hyper-V");
  EXPECT_EQ(hypervisor_name("SomethingNew"), "SomethingNew");
  EXPECT_EQ(hypervisor_name(""), "");
}

TEST(CpuInfo, FirmwareStringsTellAVirtualMachineFromMetal) {
  EXPECT_EQ(hypervisor_from_dmi("QEMU", "QEMU Virtual Machine"), "QEMU");
  EXPECT_EQ(hypervisor_from_dmi("Amazon EC2", "c7g.large"), "Amazon EC2");
  EXPECT_EQ(hypervisor_from_dmi("Amazon EC2", "c7g.metal"), std::nullopt);
  EXPECT_EQ(hypervisor_from_dmi("Microsoft Corporation", "Virtual Machine"), "Hyper-V");
  EXPECT_EQ(hypervisor_from_dmi("Dell Inc.", "PowerEdge R650"), std::nullopt);
  EXPECT_EQ(hypervisor_from_dmi("", ""), std::nullopt);
}

}  // namespace
}  // namespace hwprof
