// The main header of src/base, the floor under all others. Here lives what any program needs and
// what knows nothing of hardware counters or numeric work: Result and TRY, text, files, child
// processes, descriptors, suggestions, JSON text and tables. What names an event, a CPU or a report
// may not.
//
// What can fail returns Result<T>: the value, or an Error that says what failed, why, and what to
// do next. tl::expected, because GCC 12 has no std::expected in C++20.
#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "src/base/launch.h"

namespace hwprof {

// What kind of failure it is decides the exit code (README, "Exit codes").
enum class Fault {
  kUsage,        // wrong option or input: exit 2
  kEnvironment,  // the machine refused or lacks something: exit 3
};

struct Error {
  Fault fault = Fault::kEnvironment;
  int code = 0;      // errno where a system call failed, else 0
  std::string what;  // one sentence that names the thing: "cannot open /tmp/x: permission denied"
  std::string hint;  // what to do next; may be empty
};

// In one sentence, for where no line of its own is left for the hint.
inline std::string in_words(const Error& error) {
  return error.hint.empty() ? error.what : error.what + "; " + error.hint;
}

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> usage_error(std::string what, std::string hint = {}) {
  return tl::make_unexpected(Error{Fault::kUsage, 0, std::move(what), std::move(hint)});
}

inline tl::unexpected<Error> environment_error(int code, std::string what, std::string hint = {}) {
  if (hint.empty() && code == EMFILE) hint = more_descriptors();
  return tl::make_unexpected(Error{Fault::kEnvironment, code, std::move(what), std::move(hint)});
}

// Hands the error of one result on as that of another.
template <class T>
tl::unexpected<Error> error_of(const Result<T>& result) {
  return tl::make_unexpected(result.error());
}

// The same of a result that is used up.
template <class AnyResult>
auto error_from(AnyResult&& result) {
  return tl::make_unexpected(std::forward<AnyResult>(result).error());
}

}  // namespace hwprof

// Hands an error on to the caller, else goes on with the value:
//   TRY(auto machine, probe(cpu));   declares `machine`; `const auto&` and names that exist do, too
//   TRY(group.enable());             the value, if any, is dropped
// Statements both, in a function that returns a Result. The first form is several: it needs braces
// after `if`. A comma outside of parentheses ends the declaration.
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared has none.
#define TRY(first, ...)                          \
  HWPROF_JOIN(HWPROF_TRY_, __VA_OPT__(VALUE_OF)) \
  (HWPROF_JOIN(tried_, __LINE__), first __VA_OPT__(, ) __VA_ARGS__)
#define HWPROF_TRY_(tried, expression)                                   \
  do {                                                                   \
    if (auto&& tried = (expression); !tried)                             \
      return ::hwprof::error_from(std::forward<decltype(tried)>(tried)); \
  } while (false)
#define HWPROF_TRY_VALUE_OF(tried, declaration, ...)                             \
  auto&& tried = (__VA_ARGS__);                                                  \
  if (!tried) return ::hwprof::error_from(std::forward<decltype(tried)>(tried)); \
  declaration = *std::forward<decltype(tried)>(tried)
#define HWPROF_JOIN(left, right) HWPROF_JOIN_(left, right)
#define HWPROF_JOIN_(left, right) left##right
// NOLINTEND(bugprone-macro-parentheses)
