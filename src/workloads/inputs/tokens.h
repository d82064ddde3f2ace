// Words of a text exactly as LibMultiLabel's tokenizer finds them, so that document lengths, and
// with them the measured cost, are those of the programs that users compare with:
//   [t.lower() for t in re.findall(r'\w+', text) if not t.isnumeric()]
// Python's \w is: general category L*, or a numeric type, or "_" (Objects/unicodectype.c). Marks
// are not in it, unlike in ICU's regular expressions: hence the categories by hand.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace hwprof {

// Offset of the first byte that is not well-formed UTF-8, judged as strictly as Python does.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Calls `found` with the first `limit` words of `text`, which is valid UTF-8; each view holds
// only during its call. Returns true when there were more than `limit`.
bool tokenize(std::string_view text, std::size_t limit,
              const std::function<void(std::string_view)>& found);

}  // namespace hwprof
