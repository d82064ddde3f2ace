// JSON by hand, since the library that users link must not ask for more than it needs. Internal to
// counters/.
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

}  // namespace hwprof
