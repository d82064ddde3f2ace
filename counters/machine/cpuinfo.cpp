#include "counters/machine/cpuinfo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "src/base/text.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstring>
#endif

namespace hwprof {
namespace {

struct Pair {
  std::string_view key, value;
};

// Flag of the kernel -> our name, ascending: each line adds to what stands above it.
// The kernel shows a flag only when it also saves the registers (XCR0), so a name here is usable.
constexpr Pair kIsa[] = {
    {"sse2", "sse2"},
    {"sse4_1", "sse4_1"},
    {"sse4_2", "sse4_2"},
    {"avx", "avx"},
    {"f16c", "f16c"},
    {"avx2", "avx2"},
    {"fma", "fma"},
    {"avx_vnni", "avx_vnni"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512dq", "avx512dq"},
    {"avx512bw", "avx512bw"},
    {"avx512vl", "avx512vl"},
    {"avx512_vnni", "avx512_vnni"},
    {"avx512_bf16", "avx512_bf16"},
    {"avx512_fp16", "avx512_fp16"},
    {"amx_tile", "amx_tile"},
    {"amx_int8", "amx_int8"},
    {"amx_bf16", "amx_bf16"},
    {"asimd", "neon"},
    {"asimdhp", "neon_fp16"},
    {"asimddp", "neon_dotprod"},
    {"i8mm", "i8mm"},
    {"bf16", "bf16"},
    {"sve", "sve"},
    {"sve2", "sve2"},
    {"sme", "sme"},
};

struct ArmPart {
  unsigned implementer, part;
  std::string_view name;
};

// MIDR_EL1, as arch/arm64/include/asm/cputype.h has it.
constexpr ArmPart kArmParts[] = {
    {0x41, 0xd03, "Arm Cortex-A53"},         {0x41, 0xd05, "Arm Cortex-A55"},
    {0x41, 0xd07, "Arm Cortex-A57"},         {0x41, 0xd08, "Arm Cortex-A72"},
    {0x41, 0xd09, "Arm Cortex-A73"},         {0x41, 0xd0a, "Arm Cortex-A75"},
    {0x41, 0xd0b, "Arm Cortex-A76"},         {0x41, 0xd0c, "Arm Neoverse N1"},
    {0x41, 0xd40, "Arm Neoverse V1"},        {0x41, 0xd41, "Arm Cortex-A78"},
    {0x41, 0xd44, "Arm Cortex-X1"},          {0x41, 0xd49, "Arm Neoverse N2"},
    {0x41, 0xd4f, "Arm Neoverse V2"},        {0x41, 0xd83, "Arm Neoverse V3"},
    {0x41, 0xd8e, "Arm Neoverse N3"},        {0x61, 0x022, "Apple M1 Icestorm"},
    {0x61, 0x023, "Apple M1 Firestorm"},     {0x61, 0x024, "Apple M1 Pro Icestorm"},
    {0x61, 0x025, "Apple M1 Pro Firestorm"}, {0x61, 0x028, "Apple M1 Max Icestorm"},
    {0x61, 0x029, "Apple M1 Max Firestorm"}, {0xc0, 0xac3, "Ampere-1"},
    {0x46, 0x001, "Fujitsu A64FX"},
};

constexpr Pair kHypervisors[] = {
    {"KVMKVMKVM", "KVM"},       {"TCGTCGTCGTCG", "QEMU TCG"}, {"Microsoft Hv", "Hyper-V"},
    {"VMwareVMware", "VMware"}, {"XenVMMXenVMM", "Xen"},      {"bhyve bhyve ", "bhyve"},
    {"ACRNACRNACRN", "ACRN"},   {" lrpepyh vr", "Parallels"}, {"VBoxVBoxVBox", "VirtualBox"},
};

constexpr Pair kDmiVendors[] = {
    {"QEMU", "QEMU"},
    {"Amazon EC2", "Amazon EC2"},
    {"Google", "Google Compute Engine"},
    {"Xen", "Xen"},
    {"VMware", "VMware"},
    {"innotek GmbH", "VirtualBox"},
    {"Parallels", "Parallels"},
    {"Apple Virtualization", "Apple Virtualization"},
    {"Alibaba Cloud", "Alibaba Cloud"},
};

using Fields = std::map<std::string_view, std::string_view>;

std::vector<Fields> entries_of(std::string_view text) {
  std::vector<Fields> entries;
  bool open = false;
  for (std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    const std::string_view key = trim(line.substr(0, colon));
    if (key.empty() || colon == std::string_view::npos) {
      open = false;  // a blank line ends an entry
      continue;
    }
    if (!open) entries.emplace_back();
    open = true;
    entries.back().emplace(key, trim(line.substr(colon + 1)));
  }
  return entries;
}

std::string_view field(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string_view{} : found->second;
}

unsigned number(const Fields& fields, std::string_view key) {
  return static_cast<unsigned>(parse_unsigned(field(fields, key)).value_or(0));
}

void read_x86(const Fields& fields, CpuInfo& info) {
  const std::string_view vendor = field(fields, "vendor_id");
  info.id.vendor = vendor == "GenuineIntel"                               ? Vendor::kIntel
                   : vendor == "AuthenticAMD" || vendor == "HygonGenuine" ? Vendor::kAmd
                                                                          : Vendor::kOther;
  info.id.family = number(fields, "cpu family");
  info.id.model = number(fields, "model");
  info.id.stepping = number(fields, "stepping");
  info.name = field(fields, "model name");
}

void read_arm(const Fields& fields, CpuInfo& info) {
  info.id.family = number(fields, "CPU implementer");
  info.id.model = number(fields, "CPU part");
  info.id.stepping = number(fields, "CPU revision");
  info.id.vendor = info.id.family == 0x41   ? Vendor::kArm
                   : info.id.family == 0x61 ? Vendor::kApple
                                            : Vendor::kOther;
  const auto part = std::find_if(std::begin(kArmParts), std::end(kArmParts), [&](const ArmPart& p) {
    return p.implementer == info.id.family && p.part == info.id.model;
  });
  info.name = part != std::end(kArmParts) ? std::string(part->name)
                                          : fmt::format("arm64 implementer {:#x} part {:#x}",
                                                        info.id.family, info.id.model);
}

}  // namespace

CpuInfo parse_cpuinfo(std::string_view text, unsigned cpu) {
  CpuInfo info;
  const std::vector<Fields> entries = entries_of(text);
  const auto has_number = [](const Fields& entry) { return entry.count("processor") != 0; };
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const Fields& candidate) {
    return has_number(candidate) && number(candidate, "processor") == cpu;
  });
  if (entry == entries.end()) entry = std::find_if(entries.begin(), entries.end(), has_number);
  if (entry == entries.end()) return info;

  if (entry->count("vendor_id") != 0) read_x86(*entry, info);
  if (entry->count("CPU implementer") != 0) read_arm(*entry, info);
  const std::vector<std::string_view> flags =
      split(field(*entry, entry->count("flags") != 0 ? "flags" : "Features"), ' ');
  const auto has_flag = [&](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  for (const Pair& isa : kIsa)
    if (has_flag(isa.key)) info.isa.emplace_back(isa.value);
  info.hypervisor_flag = has_flag("hypervisor");
  return info;
}

std::string hypervisor_name(std::string_view signature) {
  const std::size_t end = signature.find('\0');
  signature = signature.substr(0, end);
  for (const Pair& known : kHypervisors)
    if (signature == known.key) return std::string(known.value);
  return std::string(trim(signature));
}

std::optional<std::string> hypervisor_from_dmi(std::string_view vendor, std::string_view product) {
  if (product.find(".metal") != std::string_view::npos) return std::nullopt;
  for (const Pair& known : kDmiVendors)
    if (vendor.substr(0, known.key.size()) == known.key) return std::string(known.value);
  // Microsoft and Google also sell hardware: there the product says it.
  if (product.find("Virtual Machine") != std::string_view::npos) return "Hyper-V";
  return std::nullopt;
}

std::string hypervisor_signature() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 31))) return {};
  __cpuid(0x40000000, eax, ebx, ecx, edx);
  std::string signature(12, '\0');
  std::memcpy(signature.data(), &ebx, 4);
  std::memcpy(signature.data() + 4, &ecx, 4);
  std::memcpy(signature.data() + 8, &edx, 4);
  return signature;
#else
  return {};
#endif
}

}  // namespace hwprof
