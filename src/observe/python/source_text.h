// Lines of source files that an observed program names: whatever is there by now, and whoever put
// it there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hwprof::observe {

class SourceTexts {
 public:
  // `file` as Python names it: of a script from the folder in which it was started. Absent: it is
  // not there, or has no such line.
  std::optional<std::string> line(const std::string& file, std::int32_t number);

 private:
  std::map<std::string, std::vector<std::string>> files_;
  std::size_t bytes_ = 0;
};

}  // namespace hwprof::observe
