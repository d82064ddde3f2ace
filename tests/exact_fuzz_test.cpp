// Random code, counted by blocks and by steps: arithmetic of integers and vectors with masks and
// broadcasts, loads and stores, branches, calls, loops, rep. What it leaves in registers and memory
// must be what it leaves when nobody counts.
#include <Zydis/Zydis.h>
#include <sys/mman.h>

#include <array>
#include <random>
#include <vector>

#include "tests/exact_setup.h"

namespace hwprof::exact {
namespace {

constexpr std::size_t kDataBytes = 4096, kCodeBytes = 16384;
// rdi: the data; rsp and rbx stay; rbp counts loops.
constexpr std::array kIntegers = {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX,
                                  ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9,
                                  ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11};
constexpr std::array kAlu = {ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_ADC, ZYDIS_MNEMONIC_SUB,
                             ZYDIS_MNEMONIC_SBB, ZYDIS_MNEMONIC_XOR, ZYDIS_MNEMONIC_AND,
                             ZYDIS_MNEMONIC_OR,  ZYDIS_MNEMONIC_CMP, ZYDIS_MNEMONIC_TEST,
                             ZYDIS_MNEMONIC_MOV};
constexpr std::array kUnary = {ZYDIS_MNEMONIC_INC,  ZYDIS_MNEMONIC_DEC,  ZYDIS_MNEMONIC_NEG,
                               ZYDIS_MNEMONIC_NOT,  ZYDIS_MNEMONIC_SETB, ZYDIS_MNEMONIC_SETO,
                               ZYDIS_MNEMONIC_SETP, ZYDIS_MNEMONIC_SETLE};
constexpr std::array kShifts = {ZYDIS_MNEMONIC_SHL, ZYDIS_MNEMONIC_SHR, ZYDIS_MNEMONIC_SAR,
                                ZYDIS_MNEMONIC_ROL, ZYDIS_MNEMONIC_RCR};
// Not lahf: it reads the one flag (AF) that logic leaves undefined.
constexpr std::array kFlags = {ZYDIS_MNEMONIC_STC, ZYDIS_MNEMONIC_CLC, ZYDIS_MNEMONIC_CMC};
constexpr std::array kPacked = {
    ZYDIS_MNEMONIC_VADDPS, ZYDIS_MNEMONIC_VMULPS,         ZYDIS_MNEMONIC_VSUBPD,
    ZYDIS_MNEMONIC_VDIVPD, ZYDIS_MNEMONIC_VFMADD231PS,    ZYDIS_MNEMONIC_VFNMADD213PD,
    ZYDIS_MNEMONIC_VMAXPS, ZYDIS_MNEMONIC_VFMADDSUB132PS, ZYDIS_MNEMONIC_VXORPS,
    ZYDIS_MNEMONIC_VMINPD, ZYDIS_MNEMONIC_VPADDD,         ZYDIS_MNEMONIC_VPADDQ};
constexpr std::array kScalar = {ZYDIS_MNEMONIC_VADDSS, ZYDIS_MNEMONIC_VMULSD,
                                ZYDIS_MNEMONIC_VSQRTSS, ZYDIS_MNEMONIC_VFMADD213SD,
                                ZYDIS_MNEMONIC_VDIVSS};
constexpr std::array kLegacy = {ZYDIS_MNEMONIC_ADDPS,  ZYDIS_MNEMONIC_MULPD,
                                ZYDIS_MNEMONIC_HADDPS, ZYDIS_MNEMONIC_ADDSUBPD,
                                ZYDIS_MNEMONIC_SQRTPS, ZYDIS_MNEMONIC_RCPPS};

unsigned element_bytes(ZydisMnemonic name) {
  const std::string text = ZydisMnemonicGetString(name);
  return text.back() == 'd' && text != "vpaddd" ? 8 : text.back() == 'q' ? 8 : 4;
}

class Program {
 public:
  explicit Program(unsigned seed, bool with_512) : random_(seed), with_512_(with_512) {
    // Subroutines first: [push rdi's neighbours; something; ret]
    std::vector<std::size_t> routines;
    for (int i = 0; i < 3; ++i) {
      routines.push_back(code_.size());
      for (int n = 0; n < 4; ++n) simple();
      put({0xc3});
    }
    start_ = code_.size();
    put({0x53, 0x55, 0x41, 0x54});  // push rbx, rbp, r12
    for (std::size_t i = 0; i < kIntegers.size(); ++i) load_integer(kIntegers.at(i), 8 * i);
    const std::size_t parts = 6 + random_() % 6;
    for (std::size_t part = 0; part < parts; ++part) {
      switch (random_() % 7) {
        case 0:
          loop();
          break;
        case 1:
          branch();
          break;
        case 2:
          call(routines.at(random_() % routines.size()));
          break;
        case 3:
          indirect();
          break;
        case 4:
          repeat();
          break;
        default:
          for (int i = 0; i < 8; ++i) simple();
      }
    }
    for (std::size_t i = 0; i < kIntegers.size(); ++i) store_integer(kIntegers.at(i), 1024 + 8 * i);
    store_vectors();
    put({0x41, 0x5c, 0x5d, 0x5b, 0xc3});
  }

  [[nodiscard]] const std::vector<std::uint8_t>& code() const { return code_; }
  [[nodiscard]] std::size_t start() const { return start_; }

 private:
  template <class Array>
  auto any(const Array& of) {
    return of.at(random_() % of.size());
  }
  void put(std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) code_.push_back(static_cast<std::uint8_t>(byte));
  }
  void put32(std::size_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      code_.push_back(static_cast<std::uint8_t>(value >> shift));
  }

  static ZydisEncoderOperand in(ZydisRegister name) {
    ZydisEncoderOperand operand{};
    operand.type = ZYDIS_OPERAND_TYPE_REGISTER;
    operand.reg.value = name;
    return operand;
  }
  static ZydisEncoderOperand at(std::size_t offset, unsigned bytes) {
    ZydisEncoderOperand operand{};
    operand.type = ZYDIS_OPERAND_TYPE_MEMORY;
    operand.mem.base = ZYDIS_REGISTER_RDI;
    operand.mem.displacement = static_cast<ZyanI64>(offset);
    operand.mem.size = static_cast<ZyanU16>(bytes);
    return operand;
  }
  static ZydisEncoderOperand number(std::uint64_t value) {
    ZydisEncoderOperand operand{};
    operand.type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
    operand.imm.u = value;
    return operand;
  }
  ZydisEncoderOperand memory(unsigned bytes) { return at(2048 + random_() % 1024, bytes); }

  // False where there is no such instruction: nothing is written then.
  bool encode(ZydisMnemonic name, std::initializer_list<ZydisEncoderOperand> operands,
              ZydisBroadcastMode broadcast = ZYDIS_BROADCAST_MODE_INVALID, bool zeroing = false) {
    ZydisEncoderRequest request{};
    request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    request.mnemonic = name;
    request.evex.broadcast = broadcast;
    request.evex.zeroing_mask = zeroing;
    for (const ZydisEncoderOperand& operand : operands)
      request.operands[request.operand_count++] = operand;
    std::array<std::uint8_t, 15> bytes{};
    ZyanUSize length = bytes.size();
    if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes.data(), &length))) return false;
    code_.insert(code_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    return true;
  }
  void load_integer(ZydisRegister name, std::size_t offset) {
    encode(ZYDIS_MNEMONIC_MOV, {in(name), at(offset, 8)});
  }
  void store_integer(ZydisRegister name, std::size_t offset) {
    encode(ZYDIS_MNEMONIC_MOV, {at(offset, 8), in(name)});
  }
  void store_vectors() {
    for (unsigned i = 0; i < 8; ++i) {
      const auto name =
          static_cast<ZydisRegister>((with_512_ ? ZYDIS_REGISTER_ZMM0 : ZYDIS_REGISTER_YMM0) + i);
      encode(with_512_ ? ZYDIS_MNEMONIC_VMOVUPS : ZYDIS_MNEMONIC_VMOVUPS,
             {at(1152 + 64 * i, with_512_ ? 64 : 32), in(name)});
    }
    encode(ZYDIS_MNEMONIC_VZEROUPPER, {});
  }

  void simple() {
    switch (random_() % 10) {
      case 0:
        encode(any(kAlu), {in(any(kIntegers)), in(any(kIntegers))});
        break;
      case 1:
        encode(any(kAlu), {in(any(kIntegers)), memory(8)}) ||
            encode(ZYDIS_MNEMONIC_TEST, {memory(8), in(any(kIntegers))});
        break;
      case 2:
        encode(any(kAlu), {memory(8), in(any(kIntegers))});
        break;
      case 3: {
        const ZydisRegister name = any(kIntegers);
        const ZydisMnemonic unary = any(kUnary);
        const auto low = static_cast<ZydisRegister>(ZYDIS_REGISTER_AL);
        encode(unary, {in(name)}) || encode(unary, {in(low)});
        break;
      }
      case 4:
        // By more than 1 the overflow flag is undefined, so all are set anew once carry was read.
        if (random_() % 2 == 0) {
          encode(any(kShifts), {in(any(kIntegers)), number(1)});
        } else {
          encode(any(kShifts), {in(any(kIntegers)), in(ZYDIS_REGISTER_CL)});
          encode(ZYDIS_MNEMONIC_SETB, {in(ZYDIS_REGISTER_R8B)});
          encode(ZYDIS_MNEMONIC_ADD, {in(any(kIntegers)), in(any(kIntegers))});
        }
        break;
      case 5:
        encode(any(kFlags), {});
        break;
      case 6:
        encode(any(kScalar), {vector(128), vector(128), vector(128)});
        break;
      case 7:
        if (!with_512_) encode(any(kLegacy), {vector(128), vector(128)});
        break;
      default:
        packed();
    }
  }
  ZydisEncoderOperand vector(unsigned bits) {
    const int first = bits == 512   ? ZYDIS_REGISTER_ZMM0
                      : bits == 256 ? ZYDIS_REGISTER_YMM0
                                    : ZYDIS_REGISTER_XMM0;
    return in(static_cast<ZydisRegister>(first + static_cast<int>(random_() % 8)));
  }
  void packed() {
    const ZydisMnemonic name = any(kPacked);
    const unsigned bits = 128U << random_() % (with_512_ ? 3 : 2);
    const auto plain = random_() % 2 == 0 ? vector(bits) : memory(bits / 8);
    if (!with_512_)
      return void(masked_avx2(bits) || encode(name, {vector(bits), vector(bits), plain}));
    const auto mask =
        in(static_cast<ZydisRegister>(ZYDIS_REGISTER_K1 + static_cast<int>(random_() % 7)));
    switch (random_() % 6) {
      case 0:  // a new mask
        encode(ZYDIS_MNEMONIC_KMOVQ, {mask, in(any(kIntegers))});
        break;
      case 1:
        encode(ZYDIS_MNEMONIC_VCMPPS,
               {mask, mask, vector(bits), vector(bits), number(random_() % 8)});
        break;
      case 2: {
        const unsigned lanes = bits / 8 / element_bytes(name);
        const auto mode =
            static_cast<ZydisBroadcastMode>(lanes == 2   ? ZYDIS_BROADCAST_MODE_1_TO_2
                                            : lanes == 4 ? ZYDIS_BROADCAST_MODE_1_TO_4
                                            : lanes == 8 ? ZYDIS_BROADCAST_MODE_1_TO_8
                                                         : ZYDIS_BROADCAST_MODE_1_TO_16);
        encode(name, {vector(bits), mask, vector(bits), memory(element_bytes(name))}, mode);
        break;
      }
      case 3:
        encode(ZYDIS_MNEMONIC_VMOVUPS, {memory(bits / 8), mask, vector(bits)});
        break;
      case 4:
        encode(ZYDIS_MNEMONIC_VADDSS, {vector(128), mask, vector(128), memory(4)});
        break;
      default:
        encode(name, {vector(bits), mask, vector(bits), plain}, ZYDIS_BROADCAST_MODE_INVALID,
               random_() % 2 == 0);
    }
  }
  bool masked_avx2(unsigned bits) {
    if (random_() % 3 != 0) return false;
    return random_() % 2 == 0
               ? encode(ZYDIS_MNEMONIC_VMASKMOVPS, {vector(bits), vector(bits), memory(bits / 8)})
               : encode(ZYDIS_MNEMONIC_VPMASKMOVQ, {memory(bits / 8), vector(bits), vector(bits)});
  }

  void loop() {
    put({0xbd});  // mov ebp, n
    put32(1 + random_() % 5);
    const std::size_t begin = code_.size();
    for (int i = 0; i < 6; ++i) simple();
    put({0xff, 0xcd, 0x0f, 0x85});  // dec ebp; jnz
    put32(begin - (code_.size() + 4));
  }
  void branch() {
    put({0x0f, static_cast<unsigned>(0x80 | random_() % 16)});
    const std::size_t site = code_.size();
    put32(0);
    for (int i = 0; i < 5; ++i) simple();
    patch(site);
  }
  void patch(std::size_t site) {
    const std::size_t distance = code_.size() - (site + 4);
    for (unsigned i = 0; i < 4; ++i)
      code_.at(site + i) = static_cast<std::uint8_t>(distance >> 8 * i);
  }
  void call(std::size_t routine) {
    put({0xe8});
    put32(routine - (code_.size() + 4));
  }
  void indirect() {           // lea rax, [rip+n]; jmp rax, or call rax of what returns
    put({0x4c, 0x8d, 0x25});  // lea r12, [rip+n]
    const std::size_t site = code_.size();
    put32(0);
    put({0x41, 0xff, 0xe4});  // jmp r12
    put({0x0f, 0x0b});
    patch(site);
  }
  void repeat() {
    put({0x57, 0x56, 0x51});               // push rdi, rsi, rcx
    put({0x48, 0x8d, 0xb7}), put32(3072);  // lea rsi, [rdi+3072]
    put({0x48, 0x8d, 0xbf}), put32(3328);  // lea rdi, [rdi+3328]
    put({0xb9}), put32(random_() % 9);     // mov ecx, n
    switch (random_() % 3) {
      case 0:
        put({0xf3, 0x48, 0xa5});  // rep movsq
        break;
      case 1:
        put({0xf3, 0xa6});  // repe cmpsb
        break;
      default:
        put({0xf3, 0xaa});  // rep stosb
    }
    put({0x59, 0x5e, 0x5f});
  }

  std::mt19937 random_;
  bool with_512_;
  std::vector<std::uint8_t> code_;
  std::size_t start_ = 0;
};

extern "C" void exact_run_cleared(void* data, const void* code);
asm(R"(
  .text
exact_run_cleared:
  pushq %rbx
  xorl %eax, %eax
  jmpq *exact_none(%rip)
1: call *%rsi
  popq %rbx
  ret
  .data
exact_none: .quad 1b
  .text
)");

// Vectors and masks start as the last program left them, unless they are set.
template <class Run>
std::vector<float> result_of(std::vector<float> data, const void* code, const void* prologue,
                             Run&& how) {
  how([&] {
    reinterpret_cast<void (*)(void*)>(const_cast<void*>(prologue))(data.data());
    exact_run_cleared(data.data(), code);
  });
  return data;
}

// Sets vectors and masks from the data: vmovups zmm0-7 (ymm), kmovq k1-7.
std::vector<std::uint8_t> prologue_bytes(bool with_512) {
  std::vector<std::uint8_t> code;
  const auto put = [&](std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) code.push_back(static_cast<std::uint8_t>(byte));
  };
  for (unsigned i = 0; i < 8; ++i) {
    if (with_512)
      put({0x62, 0xf1, 0x7c, 0x48, 0x10, 0x47 | i << 3, i});  // vmovups zmm_i, [rdi+64*i]
    else
      put({0xc5, 0xfc, 0x10, 0x87 | i << 3, 32 * i, 0, 0, 0});
    if (with_512 && i > 0)
      put({0xc4, 0xe1, 0xf8, 0x90, 0x47 | i << 3, 8 * i});  // kmovq k_i, [rdi+8*i]
  }
  put({0xc3});
  return code;
}

void fuzz(bool with_512, unsigned programs) {
  void* page =
      mmap(nullptr, kCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* bytes = static_cast<std::uint8_t*>(page);
  std::uint64_t masked = 0, flops = 0;
  for (unsigned seed = 1; seed <= programs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program(seed, with_512);
    const auto prologue = prologue_bytes(with_512);
    ASSERT_LT(program.code().size() + 256, kCodeBytes);
    mprotect(page, kCodeBytes, PROT_READ | PROT_WRITE);
    std::memcpy(bytes, prologue.data(), prologue.size());
    std::memcpy(bytes + 256, program.code().data(), program.code().size());
    mprotect(page, kCodeBytes, PROT_READ | PROT_EXEC);
    std::mt19937 random(seed);
    std::vector<float> data(kDataBytes / sizeof(float));
    for (float& value : data) value = static_cast<float>(random() % 2000) / 64 - 15;
    const void* code = bytes + 256 + program.start();
    Counts by_blocks, by_steps;
    const auto native = result_of(data, code, page, [](auto&& run) { run(); });
    const auto with = [&](Engine engine, Counts& counts) {
      return result_of(data, code, page, [&](auto&& run) {
        const auto counted = count(run, engine);
        ASSERT_TRUE(counted) << counted.error().what;
        counts = counted->counts;
      });
    };
    const auto blocks = with(Engine::kBlocks, by_blocks);
    const auto steps = with(Engine::kSteps, by_steps);
    EXPECT_EQ(by_blocks, by_steps);
    EXPECT_EQ(std::memcmp(native.data(), blocks.data(), kDataBytes), 0);
    EXPECT_EQ(std::memcmp(native.data(), steps.data(), kDataBytes), 0);
    masked += by_blocks.masked_lanes_off;
    flops += by_blocks.total_flops();
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(masked, 0U);
  EXPECT_GT(flops, 0U);
  munmap(page, kCodeBytes);
}

TEST(ExactFuzz, RandomCodeOfAvx2) {
  SKIP_WITHOUT_EXACT();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "needs AVX2";
  fuzz(false, 400);
}

TEST(ExactFuzz, RandomCodeOfAvx512) {
  SKIP_WITHOUT_EXACT();
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
    GTEST_SKIP() << "needs AVX-512";
  fuzz(true, 400);
}

}  // namespace
}  // namespace hwprof::exact
