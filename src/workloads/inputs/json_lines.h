// JSON with the line of every value and key: nlohmann's parser tells no positions, and who writes a
// file by hand needs them. Depth and length are bounded, so that no file takes the process down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

struct JsonLine;
struct JsonMember;

using JsonArray = std::vector<JsonLine>;
using JsonObject = std::vector<JsonMember>;

struct JsonLine {
  std::size_t line = 0;
  // Whole numbers as such; null, true, false and other numbers as their text.
  struct Other {
    std::string text;
  };
  std::variant<Other, std::uint64_t, std::string, JsonArray, JsonObject> value;

  // As the file has it, for messages: "\"16\"", "a list", "an object".
  [[nodiscard]] std::string described() const;
};

struct JsonMember {
  std::string key;
  std::size_t line = 0;  // of the key
  JsonLine value;
};

// Fault::kUsage names line and column of what is no JSON, and the line of a key given twice, of a
// list of more than `most_items`, and of what is nested too deep. `file` is the name for messages.
Result<JsonLine> parse_json_lines(std::string_view text, const std::string& file,
                                  std::size_t most_items);

}  // namespace hwprof
