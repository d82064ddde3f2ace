// `hwprof node --watch`: a look each interval, on a terminal in place of the last one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace hwprof {

// What a look ends in: a page to show, and what the next look is told.
struct Page {
  std::string text, known;
};

// Each `look` is a process of its own: keys and signals are heard meanwhile, and none begins with
// what another one has read of other users' processes. `take` is given its `known`, here. Ends at
// q, Ctrl-C or another signal that asks for it, with the terminal as it was; where standard output
// is no terminal, each page follows the last. A look that fails is said, and the next follows; the
// error of the first is returned. The exit code: 0, but 128 + n for a signal that a
// process sent.
Result<int> watch_pages(double interval_s, const std::function<Result<Page>()>& look,
                        const std::function<void(std::string_view known)>& take);

// As many lines of `page` as a screen of `rows` has room for; the last one tells of those that are
// left out. Pure.
std::string cut_to_rows(const std::string& page, std::size_t rows);

}  // namespace hwprof
