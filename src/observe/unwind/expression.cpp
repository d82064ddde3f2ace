#include "src/observe/unwind/expression.h"

#include <dwarf.h>

#include <utility>
#include <vector>

namespace hwprof::observe {
namespace {

constexpr std::size_t kDeepest = 64;  // values on its stack

std::optional<std::uint64_t> combined(std::uint8_t atom, std::uint64_t left, std::uint64_t right) {
  const auto signed_left = static_cast<std::int64_t>(left);
  const auto signed_right = static_cast<std::int64_t>(right);
  switch (atom) {
    case DW_OP_plus:
      return left + right;
    case DW_OP_minus:
      return left - right;
    case DW_OP_mul:
      return left * right;
    case DW_OP_and:
      return left & right;
    case DW_OP_or:
      return left | right;
    case DW_OP_xor:
      return left ^ right;
    case DW_OP_shl:
      return right < 64 ? left << right : 0;
    case DW_OP_shr:
      return right < 64 ? left >> right : 0;
    case DW_OP_eq:
      return left == right;
    case DW_OP_ne:
      return left != right;
    case DW_OP_lt:
      return signed_left < signed_right;
    case DW_OP_le:
      return signed_left <= signed_right;
    case DW_OP_gt:
      return signed_left > signed_right;
    case DW_OP_ge:
      return signed_left >= signed_right;
    default:
      return std::nullopt;
  }
}

class Machine {
 public:
  Machine(const Registers& registers, std::optional<std::uint64_t> cfa, StackMemory& memory)
      : registers_(registers), cfa_(cfa), memory_(memory) {}

  bool run(const Dwarf_Op& op) {
    if (op.atom == DW_OP_nop || op.atom == DW_OP_stack_value) return true;
    if (values_.size() >= kDeepest) return false;
    return push_constant(op) || push_register(op) || apply_to_one(op) || apply_to_two(op);
  }
  [[nodiscard]] std::optional<std::uint64_t> result() const {
    return values_.empty() ? std::nullopt : std::optional(values_.back());
  }

 private:
  bool push(std::uint64_t value) {
    values_.push_back(value);
    return true;
  }
  bool push_constant(const Dwarf_Op& op) {
    if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) return push(op.atom - DW_OP_lit0);
    switch (op.atom) {
      case DW_OP_addr:
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4u:
      case DW_OP_const4s:
      case DW_OP_const8u:
      case DW_OP_const8s:
      case DW_OP_constu:
      case DW_OP_consts:
        return push(op.number);
      case DW_OP_call_frame_cfa:
        return cfa_ && push(*cfa_);
      default:
        return false;
    }
  }
  bool push_register(const Dwarf_Op& op) {
    const bool by_number = op.atom == DW_OP_bregx;
    if (!by_number && (op.atom < DW_OP_breg0 || op.atom > DW_OP_breg31)) return false;
    const std::uint64_t number = by_number ? op.number : op.atom - DW_OP_breg0;
    return registers_.may_have(number) &&
           push(registers_.values.at(number) + (by_number ? op.number2 : op.number));
  }
  bool apply_to_one(const Dwarf_Op& op) {
    if (values_.empty()) return false;
    std::uint64_t& top = values_.back();
    switch (op.atom) {
      case DW_OP_dup:
        return push(std::uint64_t{top});
      case DW_OP_drop:
        values_.pop_back();
        return true;
      case DW_OP_deref:
        return memory_.word(top, top);
      case DW_OP_plus_uconst:
        top += op.number;
        return true;
      case DW_OP_neg:
        top = -top;
        return true;
      case DW_OP_not:
        top = ~top;
        return true;
      default:
        return false;
    }
  }
  bool apply_to_two(const Dwarf_Op& op) {
    if (values_.size() < 2) return false;
    std::uint64_t& right = values_.back();
    std::uint64_t& left = values_[values_.size() - 2];
    if (op.atom == DW_OP_over) return push(std::uint64_t{left});
    if (op.atom == DW_OP_swap) {
      std::swap(left, right);
      return true;
    }
    const auto result = combined(op.atom, left, right);
    if (!result) return false;
    left = *result;
    values_.pop_back();
    return true;
  }

  const Registers& registers_;
  std::optional<std::uint64_t> cfa_;
  StackMemory& memory_;
  std::vector<std::uint64_t> values_;
};

}  // namespace

std::optional<std::uint64_t> evaluate(std::span<const Dwarf_Op> code, const Registers& registers,
                                      std::optional<std::uint64_t> cfa, StackMemory& memory) {
  Machine machine(registers, cfa, memory);
  for (const Dwarf_Op& op : code) {
    if (!machine.run(op)) return std::nullopt;
  }
  return machine.result();
}

}  // namespace hwprof::observe
