// x86-64, decoded by Zydis: Capstone 4 stumbles over VNNI, BF16, FP16 and rounding-control FMA,
// which are just what fast kernels consist of.
#include <Zydis/Zydis.h>

#include <array>
#include <string_view>

#include "src/observe/samples/loop_scan.h"
#include "src/observe/samples/width.h"

namespace hwprof::observe {
namespace {

enum class Arithmetic : std::uint8_t { kNone, kScalar, kPacked, kTile };

struct Meaning {
  Arithmetic arithmetic = Arithmetic::kNone;
  bool fma = false;
  bool multiplies = false, adds = false;
};

bool starts_with_any(std::string_view text, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

constexpr std::array<std::string_view, 4> kDots = {"dpbf16ps", "pdpbus", "pdpwss", "4fmadd"};
constexpr std::array<std::string_view, 6> kFused = {"fmadd",  "fmsub",  "fnmadd",
                                                    "fnmsub", "fcmadd", "fmaddsub"};
constexpr std::array<std::string_view, 5> kAdds = {"add", "sub", "hadd", "hsub", "addsub"};
constexpr std::array<std::string_view, 3> kMultiplies = {"mul", "fmulc", "fcmulc"};
constexpr std::array<std::string_view, 2> kOtherwise = {"div", "sqrt"};
constexpr std::array<std::string_view, 5> kX87 = {"fadd", "fsub", "fmul", "fdiv", "fsqrt"};
constexpr std::array<std::string_view, 3> kPackedTypes = {"ps", "pd", "ph"};
constexpr std::array<std::string_view, 3> kScalarTypes = {"ss", "sd", "sh"};

bool ends_with_any(std::string_view text, const auto& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return text.ends_with(suffix); });
}

// From the name: "vfmadd231ps" computes, packed and fused; "vaddsd" computes, scalar.
Meaning meaning_of_name(std::string_view name) {
  if (name.starts_with("tdp") || name.starts_with("tcmm"))
    return {Arithmetic::kTile, true, true, true};
  if (starts_with_any(name, kX87) && !ends_with_any(name, kPackedTypes) &&
      !ends_with_any(name, kScalarTypes)) {
    return {Arithmetic::kScalar, false, name.starts_with("fmul"),
            name.starts_with("fadd") || name.starts_with("fsub")};
  }
  if (name.starts_with('v')) name.remove_prefix(1);
  // vpdpbusd ends like a scalar and is none.
  if (starts_with_any(name, kDots)) return {Arithmetic::kPacked, true, true, true};
  const bool scalar = ends_with_any(name, kScalarTypes);
  if (!scalar && !ends_with_any(name, kPackedTypes)) return {};
  const Arithmetic width = scalar ? Arithmetic::kScalar : Arithmetic::kPacked;
  if (starts_with_any(name, kFused)) return {width, true, true, true};
  const std::string_view operation = name.substr(0, name.size() - 2);
  const auto is_one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), operation) != names.end();
  };
  const bool dot = operation == "dp";
  const bool multiplies = dot || is_one_of(kMultiplies), adds = dot || is_one_of(kAdds);
  if (!multiplies && !adds && !is_one_of(kOtherwise)) return {};
  return {width, false, multiplies, adds};
}

const Meaning& meaning_of(ZydisMnemonic mnemonic) {
  static const auto table = [] {
    std::array<Meaning, ZYDIS_MNEMONIC_MAX_VALUE + 1> meanings{};
    for (std::size_t i = 0; i < meanings.size(); ++i) {
      const char* name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(i));
      if (name != nullptr) meanings.at(i) = meaning_of_name(name);
    }
    return meanings;
  }();
  return table.at(static_cast<std::size_t>(mnemonic));
}

LoopWidth packed_width(const ZydisDecodedInstruction& instruction) {
  switch (instruction.avx.vector_length) {
    case 512:
      return LoopWidth::k512;
    case 256:
      return LoopWidth::k256;
    default:
      return LoopWidth::k128;  // 128, and 0 of the legacy encodings
  }
}

Flow flow_of(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return Flow::kBranch;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return instruction.raw.imm[0].is_relative != 0 ? Flow::kJump : Flow::kEnd;
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SYSRET:
      return Flow::kEnd;
    default:
      break;
  }
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:  // padding between functions
      return Flow::kEnd;
    default:
      return Flow::kNext;
  }
}

Step step_of(const ZydisDecodedInstruction& instruction, std::uint64_t address) {
  Step step;
  step.length = instruction.length;
  step.flow = flow_of(instruction);
  if (step.flow == Flow::kBranch || step.flow == Flow::kJump) {
    step.target =
        address + step.length + static_cast<std::uint64_t>(instruction.raw.imm[0].value.s);
  }
  const Meaning& meaning = meaning_of(instruction.mnemonic);
  step.fma = meaning.fma;
  step.multiplies = meaning.multiplies;
  step.adds = meaning.adds;
  switch (meaning.arithmetic) {
    case Arithmetic::kNone:
      break;
    case Arithmetic::kScalar:
      step.arithmetic = LoopWidth::kScalar;
      break;
    case Arithmetic::kPacked:
      step.arithmetic = packed_width(instruction);
      break;
    case Arithmetic::kTile:
      step.arithmetic = LoopWidth::kUnclassified;
      break;
  }
  return step;
}

}  // namespace

LoopClass classify_loop_x86(std::span<const std::byte> code, std::uint64_t code_address,
                            std::uint64_t sampled_ip, LoopBounds* bounds) {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  const std::uint64_t lowest = sampled_ip > kLoopReachBytes
                                   ? std::max(code_address, sampled_ip - kLoopReachBytes)
                                   : code_address;
  const std::uint64_t end = std::min(code_address + code.size(), sampled_ip + kLoopReachBytes);
  const auto decode = [&](std::uint64_t address) -> std::optional<Step> {
    if (address < lowest || address >= end) return std::nullopt;
    ZydisDecodedInstruction instruction;
    const auto rest = code.subspan(address - code_address, end - address);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, rest.data(), rest.size(),
                                                    &instruction))) {
      return std::nullopt;
    }
    return step_of(instruction, address);
  };
  LoopScan scan(decode, lowest, end, sampled_ip);
  const LoopClass loop = scan.classify();
  if (bounds != nullptr) *bounds = scan.bounds();
  return loop;
}

}  // namespace hwprof::observe
