#include "src/observe/python/code_objects.h"

#include <array>

#include "src/observe/python/line_table.h"

namespace hwprof::observe {
namespace {

constexpr std::uint64_t kMostUnits = 1U << 22U, kLongestTable = 4U << 20U, kLongestText = 4096;
// Of all tables and texts that are kept; then it begins anew.
constexpr std::uint64_t kMostBytes = 64U << 20U;
// An address that is given to another object within this time, while the same frame runs it, is
// taken for the old one.
constexpr std::uint64_t kLookAgainNs = 20'000'000;

// PyASCIIObject.state: two bits of interning, then these.
constexpr unsigned kKindShift = 2, kKindMask = 7, kCompact = 1U << 5U, kAscii = 1U << 6U;

void append_utf8(std::string& text, std::uint32_t character) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < 0x20 || (character >= 0x7f && character < 0xa0) || surrogate ||
      character > 0x10ffff) {
    text += '?';
  } else if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xc0U | (character >> 6U)), add(0x80U | (character & 0x3fU));
  } else if (character < 0x10000) {
    add(0xe0U | (character >> 12U)), add(0x80U | ((character >> 6U) & 0x3fU)),
        add(0x80U | (character & 0x3fU));
  } else {
    add(0xf0U | (character >> 18U)), add(0x80U | ((character >> 12U) & 0x3fU)),
        add(0x80U | ((character >> 6U) & 0x3fU)), add(0x80U | (character & 0x3fU));
  }
}

std::uint32_t character_at(std::span<const std::byte> bytes, std::size_t index, unsigned kind) {
  if (kind == 1) return std::to_integer<std::uint32_t>(bytes[index]);
  if (kind == 2) return word_at<std::uint16_t>(bytes, 2 * index).value_or(0);
  return word_at<std::uint32_t>(bytes, 4 * index).value_or(0);
}

}  // namespace

std::optional<std::int32_t> PythonCode::line(std::uint64_t address) const {
  constexpr std::uint64_t kUnitBytes = 2;
  // One before the first: the frame has been made, and nothing run.
  if (address + kUnitBytes == begin) return first_line;
  if (address < begin || (address - begin) / kUnitBytes >= units) return std::nullopt;
  return line_at(first_line, line_table, (address - begin) / kUnitBytes).value_or(first_line);
}

std::optional<std::string> python_text(const ReadMemory& read, const PythonLayout& layout,
                                       std::uint64_t object) {
  std::array<std::byte, kTextState + 4> head{};
  if (!read(object, head)) return std::nullopt;
  const auto length = *word_at<std::uint64_t>(head, kTextLength);
  const auto state = *word_at<std::uint32_t>(head, kTextState);
  const unsigned kind = (state >> kKindShift) & kKindMask;
  if (length > kLongestText || (state & kCompact) == 0 || (kind != 1 && kind != 2 && kind != 4))
    return std::nullopt;
  std::vector<std::byte> bytes(length * kind);
  if (!read(object + ((state & kAscii) != 0 ? layout.ascii : layout.characters), bytes))
    return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < length; ++i) append_utf8(text, character_at(bytes, i, kind));
  return text;
}

std::shared_ptr<const PythonCode> CodeObjects::read_code(const ReadMemory& read,
                                                         std::uint64_t address,
                                                         const Identity& identity,
                                                         std::int32_t first_line) const {
  const auto file = python_text(read, layout_, identity.file);
  const auto function = python_text(read, layout_, identity.name);
  const auto bytes = read_word<std::uint64_t>(read, identity.line_table + kObjectSize);
  if (!file || !function || !bytes || *bytes > kLongestTable) return nullptr;
  auto code = std::make_shared<PythonCode>(PythonCode{.file = *file,
                                                      .function = *function,
                                                      .first_line = first_line,
                                                      .begin = address + layout_.instructions,
                                                      .units = identity.units,
                                                      .line_table = {}});
  code->line_table.resize(*bytes);
  if (!read(identity.line_table + layout_.bytes, code->line_table)) return nullptr;
  return code;
}

std::shared_ptr<const PythonCode> CodeObjects::holding(std::uint64_t instruction) const {
  const auto above = known_.upper_bound(instruction);
  if (above == known_.begin()) return nullptr;
  const auto& code = std::prev(above)->second.code;
  return code->line(instruction) ? code : nullptr;
}

std::shared_ptr<const PythonCode> CodeObjects::find(const ReadMemory& read, std::uint64_t address,
                                                    std::uint64_t now_ns) {
  const auto known = known_.find(address);
  if (known != known_.end() && now_ns - known->second.looked_ns < kLookAgainNs)
    return known->second.code;
  std::array<std::byte, kCodeBytes> head{};
  if (!read(address, head)) return nullptr;
  const auto word = [&](std::size_t at) { return word_at<std::uint64_t>(head, at).value_or(0); };
  const Identity identity = {.units = word(kObjectSize),
                             .file = word(layout_.file),
                             .name = word(layout_.name),
                             .line_table = word(layout_.line_table)};
  if (word(kObjectType) != code_type_ || identity.units == 0 || identity.units > kMostUnits)
    return nullptr;
  if (known != known_.end() && known->second.identity == identity) {
    known->second.looked_ns = now_ns;
    return known->second.code;
  }
  auto code = read_code(read, address, identity,
                        word_at<std::int32_t>(head, layout_.first_line).value_or(0));
  if (code == nullptr) return nullptr;
  constexpr std::uint64_t kEach = 512;
  bytes_ += kEach + code->line_table.size() + code->file.size() + code->function.size();
  if (bytes_ > kMostBytes) {
    known_.clear();
    bytes_ = 0;
  }
  known_.insert_or_assign(address, Known{identity, now_ns, code});
  return code;
}

}  // namespace hwprof::observe
