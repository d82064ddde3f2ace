// `hwprof node --watch`: a look each interval, on a terminal in place of the last one.
#pragma once

#include <functional>
#include <string>

#include "src/base/result.h"

namespace hwprof {

// `frame` gives the page to show. Ends at q, Ctrl-C or another signal that asks for it, with the
// terminal as it was; where standard output is no terminal, each page follows the last. The exit
// code: 0, but 128 + n for a signal that a process sent.
Result<int> watch_pages(double interval_s, const std::function<Result<std::string>()>& frame);

// As many lines of `page` as a screen of `rows` has room for; the last one tells of those that are
// left out. Pure.
std::string cut_to_rows(const std::string& page, std::size_t rows);

}  // namespace hwprof
