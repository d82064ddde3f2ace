// Comparing the names of symbols, without a C library.
#pragma once

namespace hwprof::observe::routine_names {

constexpr bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// What follows `prefix` in `text`, or nullptr.
constexpr const char* after(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return nullptr;
  }
  return text;
}

}  // namespace hwprof::observe::routine_names
