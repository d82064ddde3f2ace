#include "src/observe/python/source_text.h"

#include "src/base/text.h"
#include "src/base/untrusted_file.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kLargestFile = 8U << 20U, kMostSourceBytes = 64U << 20U, kLongestLine = 200;

}  // namespace

std::optional<std::string> SourceTexts::line(const std::string& file, std::int32_t number) {
  const auto [known, added] = files_.try_emplace(file);
  if (added && !file.starts_with('<') && bytes_ < kMostSourceBytes) {
    const auto text = read_untrusted(file, {.follow_link = true, .most_bytes = kLargestFile});
    bytes_ += text ? text->size() : 0;
    if (text)
      for (const std::string_view line : split(*text, '\n'))
        known->second.emplace_back(trim(line).substr(0, kLongestLine));
  }
  const std::vector<std::string>& lines = known->second;
  if (number < 1 || static_cast<std::size_t>(number) > lines.size()) return std::nullopt;
  return lines[static_cast<std::size_t>(number) - 1];
}

}  // namespace hwprof::observe
