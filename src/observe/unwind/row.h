// How to get from the registers at an instruction to those of its caller: what unwind information
// (DWARF 5, section 6.4) says of that one instruction.
#pragma once

#include <elfutils/libdw.h>

#include <array>
#include <cstdint>
#include <vector>

#include "src/observe/unwind/registers.h"

namespace hwprof::observe {

enum class Rule : std::uint8_t {
  kUndefined,     // the caller's is lost; of the return address: there is no caller
  kSame,          // the caller has the same
  kAtCfa,         // saved at the CFA and `value`
  kIsCfa,         // the CFA and `value`
  kRegister,      // in the register `value`
  kAtExpression,  // saved where expression number `value` says
  kIsExpression,  // what expression number `value` says
  kNotUnderstood,
};

struct RegisterRule {
  Rule rule = Rule::kUndefined;
  std::int32_t value = 0;
};

struct UnwindRow {
  bool known = false;
  bool signal_frame = false;  // its caller was interrupted and has not called
  // The canonical frame address: register and offset, or the first expression.
  bool cfa_by_expression = false;
  std::uint8_t cfa_register = 0;
  std::int32_t cfa_offset = 0;
  std::array<RegisterRule, kRegisters> registers;
  std::vector<std::vector<Dwarf_Op>> expressions;
};

}  // namespace hwprof::observe
