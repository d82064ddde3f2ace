// Copies the program's code, block by block, to where each block also counts how often it runs.
// Everything that the program can see stays: registers, flags, the stack with its return addresses,
// which are those of the program. So execution can leave for the program's own code at any block's
// end, and exceptions and longjmp find what they look for.
//
// A block is one counter at its head. An instruction whose effect depends on a mask or on rep has a
// second one, to which the lanes or iterations are added.
#include <algorithm>

#include "src/exact/emitter.h"
#include "src/exact/session.h"

namespace hwprof::exact {
namespace {

// Reach of a 32-bit distance from anywhere in a piece.
constexpr std::int64_t kDataReach =
    (1LL << 31) - static_cast<std::int64_t>(kCellBytes + kCodeBytes);

void write_exit(CodePiece& piece) {
  Emitter to(piece.code, piece.to_run);
  Slots& slots = *piece.slots;
  constexpr std::array kSaved = {kRcx, kRdx, kRbx, kRbp, kRsi, kRdi, kR8,
                                 kR9,  kR10, kR11, kR12, kR13, kR14, kR15};
  piece.exit = to.here();
  to.store(&slots.rsp, kRsp);
  to.load(kRsp, as_number(piece.session->stack_top));
  to.bytes({0x9c});  // pushfq
  for (const Register name : kSaved) to.push(name);
  to.bytes({0x48, 0x89, 0xe6});  // mov rsi, rsp
  to.bytes({0xfc});              // cld
  to.load(kRbx, as_number(piece.session->vector_state));
  const auto all_state = [&](unsigned modrm) {
    to.bytes({0xb8, 0xff, 0xff, 0xff, 0xff, 0xba, 0xff, 0xff, 0xff, 0xff});  // mov eax, edx: -1
    to.bytes({0x48, 0x0f, 0xae, modrm});
  };
  all_state(0x23);  // xsave64 [rbx]
  to.load(kRdi, as_number(&piece));
  to.load(kRax, reinterpret_cast<std::uint64_t>(&hwprof_exact_dispatch));
  to.bytes({0xff, 0xd0});  // call rax
  all_state(0x2b);         // xrstor64 [rbx]
  for (auto name = kSaved.rbegin(); name != kSaved.rend(); ++name) to.pop(*name);
  to.bytes({0x9d});  // popfq
  to.load(kRsp, &slots.rsp);
  to.load(kRax, &slots.rax);
  to.jump_through(&slots.target);
  piece.code = to.written();
}

CodePiece* piece_for(Session& session, std::uint64_t address) {
  for (std::size_t i = 0; i < session.piece_count; ++i) {
    CodePiece& piece = session.pieces[i];
    if (piece.has_room() && piece.reaches(address)) return &piece;
  }
  if (session.piece_count == session.pieces.size()) {
    session.refuse("is more code than can be held", address);
    return nullptr;
  }
  CodePiece& piece = session.pieces[session.piece_count];
  if (const int error = map_code_near(address, piece); error != 0) {
    session.refuse("has no executable memory in its reach", address, error);
    return nullptr;
  }
  piece.session = &session;
  ++session.piece_count;
  write_exit(piece);
  return &piece;
}

std::uint64_t fingerprint_of(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (std::uint64_t at = begin; at < end; ++at) {
    hash = (hash ^ *reinterpret_cast<const std::uint8_t*>(at)) * 0x100000001b3U;
  }
  return hash;
}

// What stands at an address, up to where a block must end.
struct Stretch {
  std::size_t count = 0;
  std::uint64_t end = 0;
  bool ends_in_jump = false;
  bool may_change = false;
};

class Translator {
 public:
  Translator(Session& session, CodePiece& piece)
      : session_(session), piece_(piece), slots_(*piece.slots), to_(piece.code, piece.to_run) {}

  Block* translate(std::uint64_t key);

 private:
  Stretch read(std::uint64_t key);
  const char* refusal_of(const Instruction& instruction, std::uint64_t address) const;
  void write_check(std::uint64_t address);
  void write_block(Block& block, const Stretch& stretch);
  void count_block(Block& block, bool flags_live);
  void count_mask(const Effect& effect, std::uint64_t* units, bool flags_live);
  void count_iterations(std::uint64_t* units, bool before);
  void copy(const Form& form, std::uint64_t address);
  void write_end(const Form& form, std::uint64_t address);
  void load_target(const Form& form, std::uint64_t address);
  void jump_by_rax();
  void leave_for(std::uint64_t address, std::uint8_t* site);

  Session& session_;
  CodePiece& piece_;
  Slots& slots_;
  Emitter to_;
};

const char* Translator::refusal_of(const Instruction& instruction, std::uint64_t address) const {
  if (instruction.refusal != nullptr) return instruction.refusal;
  const Form& form = instruction.form;
  if (instruction.effect.mask == MaskKind::kOpmask && !session_.counts_opmasks)
    return "has a mask that this CPU cannot read (no AVX-512BW)";
  if (!form.rip_relative) return nullptr;
  const auto data = static_cast<std::int64_t>(address + form.length) + form.displacement;
  const std::int64_t away = data - static_cast<std::int64_t>(as_number(piece_.start));
  return away < kDataReach && -away < kDataReach ? nullptr : "names memory that is out of reach";
}

Stretch Translator::read(std::uint64_t key) {
  const std::uint64_t begin = key & ~kChecked;
  Stretch stretch{.end = begin};
  const char* reason = nullptr;
  const auto find_end = [&] {
    return session_.ranges.end_of_code(begin, &reason, &stretch.may_change);
  };
  std::uint64_t limit = find_end();
  if (limit == 0 && session_.ranges.read()) limit = find_end();
  if (limit == 0) {
    session_.refuse(reason, begin);
    return stretch;
  }
  while (stretch.count < kLongestBlock) {
    const std::uint64_t at = stretch.end;
    const std::size_t rest = std::min<std::uint64_t>(limit - at, 15);
    Instruction& found = session_.decoded.at(stretch.count);
    found = decode({reinterpret_cast<const std::byte*>(at), rest}, at);
    if (const char* refusal = refusal_of(found, at); refusal != nullptr) {
      if (stretch.count == 0) session_.refuse(refusal, at);
      break;
    }
    const bool system_call = found.form.flow == Flow::kSystemCall;
    // A system call begins a block: it is looked at before, and memory may have changed after it.
    if (system_call && stretch.count > 0) break;
    ++stretch.count;
    stretch.end += found.form.length;
    if (system_call) break;
    stretch.ends_in_jump = found.form.flow != Flow::kNext;
    if (stretch.ends_in_jump || stretch.end >= limit) break;
    // What it stores may be the next instruction: that is looked at then.
    if (stretch.may_change && found.effect.stored > 0) break;
  }
  return stretch;
}

Block* Translator::translate(std::uint64_t key) {
  const Stretch stretch = read(key);
  if (stretch.count == 0) return nullptr;
  const bool only_check =
      session_.decoded[0].form.flow == Flow::kSystemCall && (key & kChecked) == 0;
  const std::size_t count = only_check ? 0 : stretch.count;
  auto* block = static_cast<Block*>(session_.note(sizeof(Block)));
  auto* instructions =
      static_cast<CountedInstruction*>(session_.note(count * sizeof(CountedInstruction)));
  if (block == nullptr || instructions == nullptr) {
    session_.refuse("is more code than can be held", key & ~kChecked);
    return nullptr;
  }
  *block = Block{.key = key,
                 .begin = key & ~kChecked,
                 .end = stretch.end,
                 .code = to_.here(),
                 .piece = &piece_,
                 .executions = piece_.next_cell++,
                 .instructions = instructions,
                 .count = count,
                 .fingerprint = fingerprint_of(key & ~kChecked, stretch.end),
                 .may_change = stretch.may_change};
  if (only_check)
    write_check(block->begin);
  else
    write_block(*block, stretch);
  piece_.code = to_.written();
  return block;
}

void Translator::write_check(std::uint64_t address) {
  to_.store(&slots_.rax, kRax);
  to_.load(kRax, address);
  to_.store(&slots_.target, kRax);
  to_.store(&slots_.wants_system_call, kRax);
  to_.store_zero(&slots_.site);
  to_.jump(piece_.exit);
}

void Translator::write_block(Block& block, const Stretch& stretch) {
  // Which flags are read later than each instruction; at the end all may be.
  std::array<std::uint32_t, kLongestBlock> live{};
  std::uint32_t alive = kArithmeticFlags;
  for (std::size_t i = stretch.count; i-- > 0;) {
    const Form& form = session_.decoded.at(i).form;
    alive = (alive & ~form.flags_written) | form.flags_read;
    live.at(i) = alive;
  }
  count_block(block, live[0] != 0);
  std::uint64_t at = block.begin;
  for (std::size_t i = 0; i < stretch.count; ++i) {
    const auto& [effect, form, refusal] = session_.decoded.at(i);
    CountedInstruction& counted = block.instructions[i];
    counted = {.effect = effect, .units = nullptr};
    const bool has_units = effect.mask != MaskKind::kNone || effect.repeated;
    if (has_units) counted.units = piece_.next_cell++;
    if (effect.mask != MaskKind::kNone) count_mask(effect, counted.units, live.at(i) != 0);
    if (effect.repeated) count_iterations(counted.units, true);
    if (form.flow == Flow::kNext || form.flow == Flow::kSystemCall)
      copy(form, at);
    else
      write_end(form, at);
    if (effect.repeated) count_iterations(counted.units, false);
    at += form.length;
    if (form.flow == Flow::kSystemCall) to_.load(kRcx, at);  // where the kernel came back to
  }
  if (!stretch.ends_in_jump) leave_for(stretch.end, to_.jump(to_.here()));
}

void Translator::count_block(Block& block, bool flags_live) {
  if (!flags_live) return to_.increment(block.executions);
  to_.store(&slots_.rax, kRax);
  to_.load(kRax, block.executions);
  to_.bytes({0x48, 0x8d, 0x40, 0x01});  // lea rax, [rax+1]
  to_.store(block.executions, kRax);
  to_.load(kRax, &slots_.rax);
}

void Translator::count_mask(const Effect& effect, std::uint64_t* units, bool flags_live) {
  to_.store(&slots_.rax, kRax);
  if (flags_live) {
    to_.flags_to_rax();
    to_.store(&slots_.flags, kRax);
  }
  to_.store(&slots_.rcx, kRcx);
  const unsigned name = effect.mask_register;
  if (effect.mask == MaskKind::kOpmask) {
    to_.bytes({0xc4, 0xe1, 0xfb, 0x93, 0xc8U | name});  // kmovq rcx, k
  } else {                                              // vmovmskps or vmovmskpd ecx, xmm or ymm
    const unsigned length = effect.mask_is_256 ? 4 : 0, type = effect.mask_element_bytes == 8;
    to_.bytes(
        {0xc4, 0xc1U | (name < 8 ? 0x20U : 0U), 0x78U | length | type, 0x50, 0xc8U | (name & 7U)});
  }
  to_.load(kRax, effect.all_lanes());
  to_.bytes({0x48, 0x21, 0xc1});              // and rcx, rax
  to_.bytes({0xf3, 0x48, 0x0f, 0xb8, 0xc9});  // popcnt rcx, rcx
  to_.add_to_slot(units, kRcx);
  to_.load(kRcx, &slots_.rcx);
  if (flags_live) {
    to_.load(kRax, &slots_.flags);
    to_.flags_from_rax();
  }
  to_.load(kRax, &slots_.rax);
}

// rcx before less rcx after: scans and comparisons end early.
void Translator::count_iterations(std::uint64_t* units, bool before) {
  to_.store(&slots_.rax, kRax);
  to_.load(kRax, units);
  if (before) {
    to_.bytes({0x48, 0x8d, 0x04, 0x08});  // lea rax, [rax+rcx]
  } else {
    to_.bytes({0x48, 0xf7, 0xd1});              // not rcx: -rcx - 1
    to_.bytes({0x48, 0x8d, 0x44, 0x08, 0x01});  // lea rax, [rax+rcx+1]
    to_.bytes({0x48, 0xf7, 0xd1});
  }
  to_.store(units, kRax);
  to_.load(kRax, &slots_.rax);
}

void Translator::copy(const Form& form, std::uint64_t address) {
  std::uint8_t* at = to_.written();
  to_.copy(reinterpret_cast<const void*>(address), form.length);
  if (!form.rip_relative) return;
  const std::uint64_t data =
      address + form.length + static_cast<std::uint64_t>(std::int64_t{form.displacement});
  const auto distance = static_cast<std::int32_t>(data - as_number(to_.here()));
  std::memcpy(at + form.displacement_offset, &distance, 4);
}

void Translator::write_end(const Form& form, std::uint64_t address) {
  const std::uint64_t next = address + form.length;
  switch (form.flow) {
    case Flow::kBranch: {
      std::uint8_t* taken = to_.branch(form.condition, to_.here());
      leave_for(next, to_.jump(to_.here()));
      return leave_for(form.target, taken);
    }
    case Flow::kShortBranch: {
      to_.copy(reinterpret_cast<const void*>(address), form.length - 1U);
      to_.bytes({5});  // over the jump for the other case
      std::uint8_t* not_taken = to_.jump(to_.here());
      std::uint8_t* taken = to_.jump(to_.here());
      leave_for(next, not_taken);
      return leave_for(form.target, taken);
    }
    case Flow::kCall:
      to_.push_value(next);
      return leave_for(form.target, to_.jump(to_.here()));
    case Flow::kJump:
      return leave_for(form.target, to_.jump(to_.here()));
    case Flow::kIndirectCall:
      load_target(form, address);
      to_.push_value(next);
      return jump_by_rax();
    case Flow::kIndirectJump:
      load_target(form, address);
      return jump_by_rax();
    case Flow::kReturn:
      to_.store(&slots_.rax, kRax);
      to_.pop(kRax);
      if (form.returns_over != 0) {
        to_.bytes({0x48, 0x8d, 0xa4, 0x24});  // lea rsp, [rsp+n]
        to_.imm32(form.returns_over);
      }
      return jump_by_rax();
    case Flow::kNext:
    case Flow::kSystemCall:
      return;
  }
}

// jmp r/m64 and call r/m64 become mov rax, r/m64: the same operand, another opcode.
void Translator::load_target(const Form& form, std::uint64_t address) {
  to_.store(&slots_.rax, kRax);
  const auto* from = reinterpret_cast<const std::uint8_t*>(address);
  const std::size_t opcode = form.modrm_offset - 1U;
  unsigned rex = 0x48;
  for (std::size_t i = 0; i < opcode; ++i) {
    if ((from[i] & 0xf0U) == 0x40)
      rex |= from[i] & 3U;  // names of base and index
    else if (from[i] == 0x64 || from[i] == 0x65 || from[i] == 0x67)
      to_.bytes({from[i]});
  }
  to_.bytes({rex, 0x8b, from[form.modrm_offset] & ~0x38U});
  std::uint8_t* rest = to_.written();
  const std::size_t rest_offset = form.modrm_offset + 1U;
  to_.copy(from + rest_offset, form.length - rest_offset);
  if (!form.rip_relative) return;
  const std::uint64_t data =
      address + form.length + static_cast<std::uint64_t>(std::int64_t{form.displacement});
  const auto distance = static_cast<std::int32_t>(data - as_number(to_.here()));
  std::memcpy(rest + (form.displacement_offset - rest_offset), &distance, 4);
}

// rax holds the address in the program, slots.rax what it held.
void Translator::jump_by_rax() {
  to_.store(&slots_.target, kRax);
  to_.store(&slots_.rcx, kRcx);
  to_.store(&slots_.rdx, kRdx);
  to_.bytes({0x0f, 0xb7, 0xc8});  // movzx ecx, ax
  to_.load(kRdx, as_number(&session_.jumps));
  to_.bytes({0x48, 0x8d, 0x14, 0xca});  // lea rdx, [rdx+rcx*8]
  to_.bytes({0x48, 0x8b, 0x0a});        // mov rcx, [rdx]
  to_.bytes({0x48, 0x8d, 0x0c, 0x01});  // lea rcx, [rcx+rax]: 0 where it is that address
  to_.bytes({0xe3, 0});                 // jrcxz
  std::uint8_t* known = to_.written();
  to_.load(kRdx, &slots_.rdx);
  to_.load(kRcx, &slots_.rcx);
  to_.store_zero(&slots_.site);
  to_.jump(piece_.exit);
  known[-1] = static_cast<std::uint8_t>(to_.written() - known);
  to_.bytes({0x48, 0x8b, 0x82});  // mov rax, [rdx + where the other column is]
  to_.imm32(static_cast<std::int32_t>(sizeof(JumpTable::minus_address)));
  to_.store(&slots_.target, kRax);
  to_.load(kRdx, &slots_.rdx);
  to_.load(kRcx, &slots_.rcx);
  to_.load(kRax, &slots_.rax);
  to_.jump_through(&slots_.target);
}

// The jump at `site` leads here until the block at `address` is known.
void Translator::leave_for(std::uint64_t address, std::uint8_t* site) {
  const auto distance = static_cast<std::int32_t>(to_.written() - (site + 4));
  std::memcpy(site, &distance, 4);
  to_.store(&slots_.rax, kRax);
  to_.load(kRax, address);
  to_.store(&slots_.target, kRax);
  to_.load(kRax, as_number(site));
  to_.store(&slots_.site, kRax);
  to_.jump(piece_.exit);
}

std::size_t place_of(std::uint64_t key) { return (key * 0x9e3779b97f4a7c15U) >> 48U; }

}  // namespace

void Session::refuse(const char* reason, std::uint64_t address, int error) {
  if (refusal != nullptr) return;
  refusal = reason;
  refused_at = address;
  refusal_errno = error;
}

void* Session::note(std::size_t bytes) {
  bytes = (bytes + 15) & ~std::size_t{15};
  if (bytes > static_cast<std::size_t>(end_of_notes - notes)) return nullptr;
  void* place = notes;
  notes += bytes;
  return place;
}

bool Session::changed(const Block& block) {
  return block.fingerprint != fingerprint_of(block.begin, block.end);
}

void Session::check_code() {
  for (const Block* block = blocks; block != nullptr; block = block->next) {
    if (block->current && !block->may_change && changed(*block))
      refuse("was changed after it had been translated", block->begin);
  }
}

void Session::flush() {
  check_code();
  for (Block* block = blocks; block != nullptr; block = block->next) block->current = false;
  places.fill(nullptr);
  used_places = 0;
  jumps.minus_address.fill(0);
  ranges.forget();
}

Block* block_at(Session& session, std::uint64_t key) {
  std::size_t place = place_of(key);
  bool again = false;
  for (; session.places[place] != nullptr; place = (place + 1) % kBlockPlaces) {
    Block* known = session.places[place];
    if (known->key != key) continue;
    if (!known->may_change || !Session::changed(*known)) return known;
    known->current = false;
    again = true;
    break;
  }
  if (session.used_places > kBlockPlaces / 4 * 3) {
    session.refuse("is more code than can be held", key & ~kChecked);
    return nullptr;
  }
  CodePiece* piece = piece_for(session, key & ~kChecked);
  if (piece == nullptr) return nullptr;
  Block* block = Translator(session, *piece).translate(key);
  if (block == nullptr) return nullptr;
  block->next = session.blocks;
  session.blocks = block;
  session.places[place] = block;
  if (!again) ++session.used_places;
  return block;
}

void link(CodePiece& from, std::uint64_t site, const Block& block) {
  auto* place = reinterpret_cast<std::uint8_t*>(site);
  const std::uint8_t* to = block.code;
  if (block.piece != &from) {  // too far for a direct jump
    if (!from.has_room()) return;
    std::uint64_t* cell = from.next_cell++;
    *cell = as_number(block.code);
    Emitter stub(from.code, from.to_run);
    to = stub.here();
    stub.jump_through(cell);
    from.code = stub.written();
  }
  const auto distance = static_cast<std::int32_t>(to - (place + from.to_run + 4));
  std::memcpy(place, &distance, 4);
}

}  // namespace hwprof::exact
