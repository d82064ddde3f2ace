// What can fail returns Result<T>: the value, or an Error that says what failed, why, and what to
// do next. tl::expected, because GCC 12 has no std::expected in C++20.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

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

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> usage_error(std::string what, std::string hint = {}) {
  return tl::make_unexpected(Error{Fault::kUsage, 0, std::move(what), std::move(hint)});
}

inline tl::unexpected<Error> environment_error(int code, std::string what, std::string hint = {}) {
  return tl::make_unexpected(Error{Fault::kEnvironment, code, std::move(what), std::move(hint)});
}

// Hands the error of one result on as that of another.
template <class T>
tl::unexpected<Error> error_of(const Result<T>& result) {
  return tl::make_unexpected(result.error());
}

}  // namespace hwprof
