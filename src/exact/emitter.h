// Writes x86-64 machine code: the few forms that the block counter puts around the instructions of
// others. All of them leave the flags alone but those that say so, and address memory by its
// distance, so that the code needs no register of its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace hwprof::exact {

enum Register : std::uint8_t {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15
};

class Emitter {
 public:
  // Bytes go to `to`, which is mapped a second time `to_run` bytes further, where they are
  // executed.
  Emitter(std::uint8_t* to, std::ptrdiff_t to_run) : at_(to), to_run_(to_run) {}

  // Where the next byte is executed.
  [[nodiscard]] std::uint8_t* here() const { return at_ + to_run_; }
  [[nodiscard]] std::uint8_t* written() const { return at_; }

  void bytes(std::initializer_list<unsigned> values) {
    for (const unsigned value : values) *at_++ = static_cast<std::uint8_t>(value);
  }
  void copy(const void* from, std::size_t size) {
    std::memcpy(at_, from, size);
    at_ += size;
  }
  void imm32(std::int32_t value) { copy(&value, 4); }
  void imm64(std::uint64_t value) { copy(&value, 8); }
  // The distance to `target`; `more` bytes of the instruction follow it.
  void distance(const void* target, int more = 0) {
    imm32(
        static_cast<std::int32_t>(static_cast<const std::uint8_t*>(target) - (here() + 4 + more)));
  }

  void store(void* slot, Register from) { access(0x89, from, slot); }
  void load(Register to, void* slot) { access(0x8b, to, slot); }
  void load(Register to, std::uint64_t value) {
    bytes({0x48U | (to >= kR8 ? 1U : 0U), 0xb8U | (to & 7U)});
    imm64(value);
  }
  void store_zero(void* slot) {
    bytes({0x48, 0xc7, 0x05});
    distance(slot, 4);
    imm32(0);
  }
  void push(Register from) {
    if (from >= kR8) bytes({0x41});
    bytes({0x50U | (from & 7U)});
  }
  void pop(Register to) {
    if (to >= kR8) bytes({0x41});
    bytes({0x58U | (to & 7U)});
  }
  // As call pushes its return address.
  void push_value(std::uint64_t value) {
    bytes({0x68});
    imm32(static_cast<std::int32_t>(value));
    bytes({0xc7, 0x44, 0x24, 0x04});
    imm32(static_cast<std::int32_t>(value >> 32U));
  }
  // Returns where the distance of the jump stands, in the code that is written.
  std::uint8_t* jump(const void* target) {
    bytes({0xe9});
    distance(target);
    return at_ - 4;
  }
  std::uint8_t* branch(unsigned condition, const void* target) {
    bytes({0x0f, 0x80U | condition});
    distance(target);
    return at_ - 4;
  }
  void jump_through(void* slot) {
    bytes({0xff, 0x25});
    distance(slot);
  }
  // Both take al and ah: what they hold must be saved before, and is lost.
  void flags_to_rax() { bytes({0x0f, 0x90, 0xc0, 0x9f}); }  // seto al; lahf
  void flags_from_rax() { bytes({0x04, 0x7f, 0x9e}); }      // add al, 127; sahf
  void add_to_slot(void* slot, Register from) {             // writes the flags
    access(0x01, from, slot);
  }
  void increment(void* slot) {  // writes the flags
    bytes({0x48, 0x83, 0x05});
    distance(slot, 1);
    bytes({1});
  }

 private:
  void access(unsigned opcode, Register name, void* slot) {
    bytes({0x48U | (name >= kR8 ? 4U : 0U), opcode, 5U | (name & 7U) << 3U});
    distance(slot);
  }

  std::uint8_t* at_;
  std::ptrdiff_t to_run_;
};

}  // namespace hwprof::exact
