// Text from outside (paths, document names, CPU names, messages) on its way to a terminal. A name
// may hold an escape sequence that recolours, retitles or types into the terminal that shows it,
// or bytes that are no UTF-8; what the user gets to see is \x1b, \u{202e}, \xff.
#pragma once

#include <string>
#include <string_view>

namespace hwprof::report {

// Every byte or character that is not plainly visible is replaced by its escape: controls (C0, C1,
// DEL, newlines), format characters (direction overrides, zero width), invalid UTF-8.
std::string printable(std::string_view text);

// Terminal cells that `text` takes: wide East Asian characters two, combining marks none.
int display_width(std::string_view text);

}  // namespace hwprof::report
