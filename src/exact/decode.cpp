// Decoded by Zydis, 4.0 and later: it knows AVX-512 with its masks, broadcasts and FP16.
//
// What an instruction computes follows from its name, which is regular from SSE to AVX-512: an
// operation, for FMA the order of its operands, and the type of its elements.
#include "src/exact/decode.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

namespace hwprof::exact {
namespace {

struct Stem {
  std::string_view name;
  Operation operation;
  std::uint8_t flops_per_lane;
};

// Longer names before those that they begin with.
constexpr std::array kStems = {
    Stem{"fmaddsub", Operation::kFma, 2},
    Stem{"fmsubadd", Operation::kFma, 2},
    Stem{"fmaddc", Operation::kFma, 8},  // of complex numbers: four products, four sums
    Stem{"fcmaddc", Operation::kFma, 8},
    Stem{"fnmadd", Operation::kFma, 2},
    Stem{"fnmsub", Operation::kFma, 2},
    Stem{"fmadd", Operation::kFma, 2},
    Stem{"fmsub", Operation::kFma, 2},
    Stem{"fmulc", Operation::kMultiply, 6},  // complex: four products, two sums
    Stem{"fcmulc", Operation::kMultiply, 6},
    Stem{"addsub", Operation::kAdd, 1},
    Stem{"hadd", Operation::kAdd, 1},
    Stem{"hsub", Operation::kAdd, 1},
    Stem{"add", Operation::kAdd, 1},
    Stem{"sub", Operation::kAdd, 1},
    Stem{"mul", Operation::kMultiply, 1},
    Stem{"div", Operation::kDivide, 1},
    Stem{"sqrt", Operation::kSquareRoot, 1},
    Stem{"max", Operation::kMinMax, 0},
    Stem{"min", Operation::kMinMax, 0},
    Stem{"range", Operation::kMinMax, 0},
    Stem{"ucomi", Operation::kCompare, 0},
    Stem{"comi", Operation::kCompare, 0},
    Stem{"cmp", Operation::kCompare, 0},
    Stem{"rsqrt", Operation::kApproximate, 0},
    Stem{"rcp", Operation::kApproximate, 0},
    Stem{"exp2", Operation::kApproximate, 0},
    Stem{"round", Operation::kRound, 0},
    Stem{"rndscale", Operation::kRound, 0},
    Stem{"reduce", Operation::kRound, 0},
    Stem{"getexp", Operation::kRound, 0},
    Stem{"getmant", Operation::kRound, 0},
    Stem{"scalef", Operation::kRound, 0},
};

constexpr std::array kX87 = {
    Stem{"fadd", Operation::kAdd, 1},          Stem{"fiadd", Operation::kAdd, 1},
    Stem{"fsub", Operation::kAdd, 1},          Stem{"fisub", Operation::kAdd, 1},
    Stem{"fmul", Operation::kMultiply, 1},     Stem{"fimul", Operation::kMultiply, 1},
    Stem{"fdiv", Operation::kDivide, 1},       Stem{"fidiv", Operation::kDivide, 1},
    Stem{"fsqrt", Operation::kSquareRoot, 1},  Stem{"fcom", Operation::kCompare, 0},
    Stem{"fucom", Operation::kCompare, 0},     Stem{"ficom", Operation::kCompare, 0},
    Stem{"ftst", Operation::kCompare, 0},      Stem{"frndint", Operation::kRound, 0},
    Stem{"fscale", Operation::kRound, 0},      Stem{"fprem", Operation::kApproximate, 0},
    Stem{"fsin", Operation::kApproximate, 0},  Stem{"fcos", Operation::kApproximate, 0},
    Stem{"fptan", Operation::kApproximate, 0}, Stem{"fpatan", Operation::kApproximate, 0},
    Stem{"fyl2x", Operation::kApproximate, 0}, Stem{"f2xm1", Operation::kApproximate, 0},
};

struct ElementType {
  std::string_view name;
  Precision precision;
  std::uint8_t bytes;
  bool scalar;
};

constexpr std::array kTypes = {
    ElementType{"ps", Precision::kSingle, 4, false},
    ElementType{"pd", Precision::kDouble, 8, false},
    ElementType{"ph", Precision::kHalf, 2, false},
    ElementType{"ss", Precision::kSingle, 4, true},
    ElementType{"sd", Precision::kDouble, 8, true},
    ElementType{"sh", Precision::kHalf, 2, true},
};

// What the name alone says.
struct Meaning {
  Operation operation = Operation::kNone;
  Precision precision = Precision::kSingle;
  std::uint8_t flops_per_lane = 0, element_bytes = 0;
  bool scalar = false;       // one lane, also of what only moves
  bool masked_move = false;  // vmaskmovps, vpmaskmovd: a vector register says which lanes
  // Gathers and scatters: bytes of an index, of an element.
  std::uint8_t index_bytes = 0, data_bytes = 0;
};

Meaning meaning_of_vector_name(std::string_view name) {
  Meaning meaning;
  if (name.starts_with('v')) name.remove_prefix(1);
  for (const std::string_view indexed : {"gather", "scatter"}) {
    const std::size_t at = name.find(indexed);
    if (at == std::string_view::npos || at > 1) continue;  // prefetching forms read nothing
    const std::string_view types = name.substr(at + indexed.size());
    if (types.size() < 2 || types.starts_with("pf")) return meaning;
    meaning.index_bytes = types.front() == 'q' ? 8 : 4;
    meaning.data_bytes = types.ends_with("pd") || types.substr(1) == "q" ? 8 : 4;
    return meaning;
  }
  if (name.starts_with("maskmovp") || name == "pmaskmovd" || name == "pmaskmovq") {
    meaning.masked_move = true;
    meaning.element_bytes = name.ends_with("pd") || name.ends_with('q') ? 8 : 4;
    return meaning;
  }
  if (name == "dpps" || name == "dppd" || name == "dpbf16ps") {
    meaning.operation = Operation::kDot;
    meaning.precision = name == "dppd" ? Precision::kDouble : Precision::kSingle;
    meaning.element_bytes = name == "dppd" ? 8 : 4;
    meaning.flops_per_lane = 4;  // of dpbf16ps: two products, both added
    return meaning;
  }
  // Names of integers end alike (pabsd), and broadcastss fills all lanes.
  const bool of_numbers = !name.starts_with('p') && !name.starts_with("broadcast");
  for (const ElementType& type : kTypes)
    meaning.scalar |= of_numbers && type.scalar && name.ends_with(type.name);
  for (const Stem& stem : kStems) {
    if (!name.starts_with(stem.name)) continue;
    std::string_view rest = name.substr(stem.name.size());
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
    const auto* type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.name == rest; });
    if (type == kTypes.end()) continue;
    meaning.operation = stem.operation;
    meaning.flops_per_lane = stem.flops_per_lane;
    meaning.precision = type->precision;
    const bool complex = stem.flops_per_lane > 2;
    meaning.element_bytes = static_cast<std::uint8_t>(complex ? 2 * type->bytes : type->bytes);
    break;
  }
  return meaning;
}

Meaning meaning_of_x87_name(std::string_view name) {
  for (const Stem& stem : kX87) {
    if (name.starts_with(stem.name))
      return {stem.operation, Precision::kExtended, stem.flops_per_lane, 10, true, false, 0, 0};
  }
  return {};
}

struct Tables {
  Tables() {
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (std::size_t i = 0; i < vector.size(); ++i) {
      const char* name = ZydisMnemonicGetString(static_cast<ZydisMnemonic>(i));
      if (name == nullptr) continue;
      vector.at(i) = meaning_of_vector_name(name);
      x87.at(i) = meaning_of_x87_name(name);
    }
  }
  ZydisDecoder decoder{};
  std::array<Meaning, ZYDIS_MNEMONIC_MAX_VALUE + 1> vector{}, x87{};
};

const Tables& tables() {
  static const Tables made;
  return made;
}

using Operands = std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT>;

// What neither engine may pass over: it would be counted wrongly, or run where it must not.
const char* refusal_of(const ZydisDecodedInstruction& code) {
  switch (code.meta.isa_ext) {
    case ZYDIS_ISA_EXT_AMX_BF16:
    case ZYDIS_ISA_EXT_AMX_INT8:
    case ZYDIS_ISA_EXT_AMX_TILE:
      return "computes on AMX tiles, whose sizes the instruction does not tell";
    case ZYDIS_ISA_EXT_RTM:
    case ZYDIS_ISA_EXT_TSX_LDTRK:
      return "is of a transaction (TSX), which may be undone";
    case ZYDIS_ISA_EXT_AMD3DNOW:
    case ZYDIS_ISA_EXT_XOP:
    case ZYDIS_ISA_EXT_KNC:
    case ZYDIS_ISA_EXT_KNCE:
    case ZYDIS_ISA_EXT_KNCV:
      return "is of an instruction set that is not counted (3DNow!, XOP, Knights)";
    case ZYDIS_ISA_EXT_UINTR:
      return "is of user interrupts";
    default:
      break;
  }
  switch (code.meta.category) {
    case ZYDIS_CATEGORY_AVX512_4FMAPS:
    case ZYDIS_CATEGORY_AVX512_4VNNIW:
      return "is of an instruction set that is not counted (3DNow!, XOP, Knights)";
    case ZYDIS_CATEGORY_INTERRUPT:
      return "raises an interrupt";
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
      return code.mnemonic == ZYDIS_MNEMONIC_XGETBV || code.mnemonic == ZYDIS_MNEMONIC_RDTSC ||
                     code.mnemonic == ZYDIS_MNEMONIC_RDPMC || code.mnemonic == ZYDIS_MNEMONIC_RDTSCP
                 ? nullptr
                 : "is for the kernel of the operating system";
    default:
      break;
  }
  switch (code.mnemonic) {
    case ZYDIS_MNEMONIC_SYSENTER:
      return "enters the kernel by an old way";
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
      return "stops the program";
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
      return "writes single bytes by a mask";
    default:
      break;
  }
  if (code.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return "jumps to another segment";
  if (code.meta.category == ZYDIS_CATEGORY_STRINGOP && code.address_width != 64 &&
      (code.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)))
    return "repeats by a counter of 32 bits";
  return nullptr;
}

bool reads(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}
bool writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool broadcasts(const ZydisDecodedInstruction& code) {
  return code.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
         code.avx.broadcast.is_static == ZYAN_FALSE;
}

// Lanes that an opmask governs: those of the first operand that has elements. Of a result in an
// opmask, those of what is compared.
std::uint8_t governed_lanes(const ZydisDecodedInstruction& code, const Operands& operands) {
  for (std::size_t i = 0; i < code.operand_count_visible; ++i) {
    const auto& operand = operands.at(i);
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_MASK)
      continue;
    const unsigned elements =
        operand.type == ZYDIS_OPERAND_TYPE_MEMORY && broadcasts(code)
            ? code.avx.vector_length / std::max<unsigned>(operand.element_size, 8)
            : operand.element_count;
    return static_cast<std::uint8_t>(elements);
  }
  return 1;
}

// Instructions of these classes read all of their memory whatever the mask says (Intel SDM, vol. 2,
// "Exceptions types of EVEX-encoded instructions": without fault suppression).
bool reads_all(ZydisExceptionClass exceptions) {
  return exceptions == ZYDIS_EXCEPTION_CLASS_E4NF || exceptions == ZYDIS_EXCEPTION_CLASS_E6NF ||
         exceptions == ZYDIS_EXCEPTION_CLASS_E9NF || exceptions == ZYDIS_EXCEPTION_CLASS_E3NF ||
         exceptions == ZYDIS_EXCEPTION_CLASS_E1NF;
}

void set_memory(Effect& effect, const ZydisDecodedInstruction& code, const Operands& operands,
                const Meaning& meaning) {
  if (meaning.data_bytes != 0) {
    const unsigned widest = std::max(meaning.index_bytes, meaning.data_bytes);
    effect.mask_lanes = static_cast<std::uint8_t>(code.avx.vector_length / 8 / widest);
    const auto bytes = static_cast<std::uint16_t>(effect.mask_lanes * meaning.data_bytes);
    const bool scatters = operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
    (scatters ? effect.stored : effect.loaded) = bytes;
    effect.masked_memory = true;
    return;
  }
  const auto category = code.meta.category;
  if (category == ZYDIS_CATEGORY_PREFETCH || category == ZYDIS_CATEGORY_PREFETCHWT1 ||
      category == ZYDIS_CATEGORY_NOP || category == ZYDIS_CATEGORY_WIDENOP ||
      category == ZYDIS_CATEGORY_CLDEMOTE || category == ZYDIS_CATEGORY_CLWB ||
      category == ZYDIS_CATEGORY_CLFLUSHOPT || code.mnemonic == ZYDIS_MNEMONIC_CLFLUSH)
    return;
  for (std::size_t i = 0; i < code.operand_count; ++i) {
    const auto& operand = operands.at(i);
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM)
      continue;
    const bool one_element = broadcasts(code) && operand.element_size != 0;
    const auto bytes =
        static_cast<std::uint16_t>((one_element ? operand.element_size : operand.size) / 8);
    if (reads(operand)) effect.loaded = static_cast<std::uint16_t>(effect.loaded + bytes);
    if (writes(operand)) effect.stored = static_cast<std::uint16_t>(effect.stored + bytes);
    if (effect.mask == MaskKind::kNone || one_element) continue;
    effect.masked_memory = effect.mask_lanes != 0 && bytes % effect.mask_lanes == 0 &&
                           (meaning.masked_move || operand.element_count == effect.mask_lanes) &&
                           !reads_all(code.meta.exception_class);
  }
}

void set_vector_mask(Effect& effect, const ZydisDecodedOperand& operand,
                     std::uint8_t element_bytes) {
  effect.mask = MaskKind::kVectorSigns;
  effect.mask_register = static_cast<std::uint8_t>(ZydisRegisterGetId(operand.reg.value));
  effect.mask_is_256 = ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_YMM;
  effect.mask_element_bytes = element_bytes;
}

void set_mask(Effect& effect, const ZydisDecodedInstruction& code, const Operands& operands,
              const Meaning& meaning) {
  const bool vex = code.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
  if (vex && meaning.masked_move) {
    set_vector_mask(effect, operands[1], meaning.element_bytes);
    effect.mask_lanes =
        static_cast<std::uint8_t>(code.avx.vector_length / 8 / meaning.element_bytes);
  } else if (vex && meaning.data_bytes != 0) {
    set_vector_mask(effect, operands[2], meaning.data_bytes);
  } else if (code.avx.mask.reg > ZYDIS_REGISTER_K0 && code.avx.mask.reg <= ZYDIS_REGISTER_K7) {
    effect.mask = MaskKind::kOpmask;
    effect.mask_register = static_cast<std::uint8_t>(ZydisRegisterGetId(code.avx.mask.reg));
    effect.mask_lanes = meaning.scalar ? std::uint8_t{1} : governed_lanes(code, operands);
  }
}

void set_operation(Effect& effect, const ZydisDecodedInstruction& code, const Operands& operands,
                   const Meaning& meaning) {
  effect.operation = meaning.operation;
  if (meaning.operation == Operation::kNone) return;
  effect.precision = meaning.precision;
  effect.flops_per_lane = meaning.flops_per_lane;
  effect.lanes = 1;
  if (meaning.scalar) return;
  const unsigned bits = std::max<unsigned>(code.avx.vector_length, 128);
  effect.width = bits == 512 ? Width::k512 : bits == 256 ? Width::k256 : Width::k128;
  effect.lanes = static_cast<std::uint8_t>(bits / 8 / meaning.element_bytes);
  if (effect.mask == MaskKind::kOpmask) effect.mask_lanes = effect.lanes;
  const bool chooses =
      meaning.operation == Operation::kDot &&
      operands.at(code.operand_count_visible - 1U).type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (!chooses) return;
  // dpps: the upper half of its immediate chooses the products that are summed up, in each 128
  // bits.
  const auto chosen = operands.at(code.operand_count_visible - 1U).imm.value.u >> 4U &
                      (meaning.element_bytes == 4 ? 15U : 3U);
  const int products = std::popcount(chosen);
  effect.lanes = static_cast<std::uint8_t>(bits / 128);
  effect.flops_per_lane = static_cast<std::uint8_t>(products == 0 ? 0 : 2 * products - 1);
}

Flow flow_of(const ZydisDecodedInstruction& code, const Operands& operands) {
  const bool relative = operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (code.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return code.opcode >= 0xe0 && code.opcode <= 0xe3 &&
                     code.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT
                 ? Flow::kShortBranch
                 : Flow::kBranch;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return relative ? Flow::kJump : Flow::kIndirectJump;
    case ZYDIS_CATEGORY_CALL:
      return relative ? Flow::kCall : Flow::kIndirectCall;
    case ZYDIS_CATEGORY_RET:
      return Flow::kReturn;
    case ZYDIS_CATEGORY_SYSCALL:
      return Flow::kSystemCall;
    default:
      return Flow::kNext;
  }
}

const char* set_form(Form& form, const ZydisDecodedInstruction& code, const Operands& operands,
                     std::uint64_t address) {
  form.length = code.length;
  form.flow = flow_of(code, operands);
  for (std::size_t i = 0; i < code.operand_count; ++i) {
    const auto& operand = operands.at(i);
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    form.rip_relative |= operand.mem.base == ZYDIS_REGISTER_RIP;
    if (operand.mem.base == ZYDIS_REGISTER_EIP) return "names memory by 32 bits of its own address";
  }
  form.displacement = static_cast<std::int32_t>(code.raw.disp.value);
  form.displacement_offset = code.raw.disp.offset;
  form.condition = code.opcode & 15U;
  if (form.flow == Flow::kIndirectJump || form.flow == Flow::kIndirectCall) {
    if (code.operand_width != 64) return "jumps by an address of less than 64 bits";
    form.modrm_offset = code.raw.modrm.offset;
  }
  if (form.flow >= Flow::kBranch && form.flow <= Flow::kCall)
    form.target = address + code.length + static_cast<std::uint64_t>(operands[0].imm.value.s);
  if (form.flow == Flow::kReturn && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    form.returns_over = static_cast<std::uint16_t>(operands[0].imm.value.u);
  form.flags_read = kArithmeticFlags;
  if (const auto* flags = code.cpu_flags; flags != nullptr) {
    form.flags_read = flags->tested & kArithmeticFlags;
    // A shift by 0 or rep of nothing leaves the flags alone: only what always writes them counts.
    // What the manuals call undefined may be the flag as it was.
    if (code.meta.category == ZYDIS_CATEGORY_BINARY || code.meta.category == ZYDIS_CATEGORY_LOGICAL)
      form.flags_written = (flags->modified | flags->set_0 | flags->set_1) & kArithmeticFlags;
  } else if (form.flow == Flow::kNext) {
    form.flags_read = 0;
  }
  return nullptr;
}

}  // namespace

void warm_up() { tables(); }

Instruction decode(std::span<const std::byte> code, std::uint64_t address) {
  ZydisDecodedInstruction found{};
  Operands operands{};
  Instruction instruction;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&tables().decoder, code.data(), code.size(), &found,
                                           operands.data()))) {
    instruction.refusal = "is unknown to the decoder";
    return instruction;
  }
  instruction.refusal = set_form(instruction.form, found, operands, address);
  if (instruction.refusal == nullptr) instruction.refusal = refusal_of(found);
  Effect& effect = instruction.effect;
  effect.system_call = instruction.form.flow == Flow::kSystemCall;
  const bool string = found.meta.category == ZYDIS_CATEGORY_STRINGOP;  // movsd, cmpsd: bytes
  effect.repeated = string && (found.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
                                                   ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  const bool x87 = found.meta.isa_ext == ZYDIS_ISA_EXT_X87;
  const Meaning meaning = string ? Meaning{}
                          : x87  ? tables().x87.at(found.mnemonic)
                                 : tables().vector.at(found.mnemonic);
  set_mask(effect, found, operands, meaning);
  set_operation(effect, found, operands, meaning);
  set_memory(effect, found, operands, meaning);
  return instruction;
}

}  // namespace hwprof::exact
