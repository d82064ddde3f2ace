// fmt::join would do, but GCC 12 warns inside it at -O3 (-Wstringop-overflow, a false alarm).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hwprof::blas {

inline std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace hwprof::blas
