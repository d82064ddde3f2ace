// JSON by hand, for what is written as it comes: a trace of millions of calls needs no tree of them
// in memory, and the library that users link carries no parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hwprof {

// With its quotes. What is no UTF-8 becomes U+FFFD.
std::string quoted(std::string_view text);
// With all its digits; null where it is absent or not finite.
std::string number(std::optional<double> value);
// null where it is empty.
std::string text_or_null(std::string_view text);

// Bytes of the UTF-8 sequence that `text` starts with; 0: it is none (RFC 3629: the shortest form,
// no surrogates).
std::size_t utf8_length(std::string_view text);

}  // namespace hwprof
