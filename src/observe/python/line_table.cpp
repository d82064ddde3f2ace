#include "src/observe/python/line_table.h"

namespace hwprof::observe {
namespace {

// The location of some instructions: its kind stands in the first byte, whose bit 7 no other has.
enum Kind : unsigned { kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNone = 15 };

class LineTableReader {
 public:
  explicit LineTableReader(std::span<const std::byte> table) : rest_(table) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  unsigned take() {
    if (rest_.empty()) return 0;
    const auto value = std::to_integer<unsigned>(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
  }
  // Six bits a byte, the lowest first; bit 6: another one follows.
  std::uint32_t take_number() {
    std::uint32_t number = 0;
    unsigned byte = 0, shift = 0;
    do {
      byte = take();
      if (shift < 32) number |= (byte & 0x3fU) << shift;
      shift += 6;
    } while ((byte & 0x40U) != 0);
    return number;
  }
  // The sign in the lowest bit.
  std::uint32_t take_signed() {
    const std::uint32_t number = take_number();
    return (number & 1U) != 0 ? -(number >> 1U) : number >> 1U;
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

std::optional<std::int32_t> line_at(std::int32_t first_line, std::span<const std::byte> table,
                                    std::size_t unit) {
  LineTableReader reader(table);
  // Without a sign, which may run over.
  auto line = static_cast<std::uint32_t>(first_line);
  for (std::size_t end = 0; !reader.done();) {
    const unsigned first = reader.take(), kind = (first >> 3U) & 0xfU;
    if (kind == kLong || kind == kNoColumns) line += reader.take_signed();
    if (kind == kLong) {
      for (int number = 0; number < 3; ++number) reader.take_number();  // end line, columns
    } else if (kind >= kOneLine0 && kind <= kOneLine2) {
      line += kind - kOneLine0;
      reader.take();
      reader.take();
    } else if (kind < kOneLine0) {
      reader.take();
    }
    end += (first & 7U) + 1;
    if (unit >= end) continue;
    return kind == kNone ? std::nullopt : std::optional(static_cast<std::int32_t>(line));
  }
  return std::nullopt;
}

}  // namespace hwprof::observe
