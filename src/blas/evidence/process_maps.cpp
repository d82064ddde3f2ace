#include "src/blas/evidence/process_maps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/text.h"

namespace hwprof::blas {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// The next word of `rest`, which is left behind it.
std::string_view take_word(std::string_view& rest) {
  const auto begin = std::min(rest.find_first_not_of(' '), rest.size());
  const auto end = std::min(rest.find(' ', begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

// "7f2c4c000000-7f2c4c200000 r-xp 00001000 fe:00 1234    /usr/lib/libblas.so.3"
struct Line {
  FileMapping mapping;
  bool executable = false;
};

// The kernel writes a newline of a path as \012 and escapes nothing else (proc(5)).
std::string unescaped(std::string_view path) {
  std::string text(path);
  for (auto at = text.find("\\012"); at != std::string::npos; at = text.find("\\012", at + 1)) {
    text.replace(at, 4, "\n");
  }
  return text;
}

std::optional<Line> parse_line(std::string_view text) {
  const std::string_view range = take_word(text);
  const std::string_view rights = take_word(text);
  const auto offset = parse_unsigned(take_word(text), 16);
  take_word(text);  // device
  const auto inode = parse_unsigned(take_word(text));
  const auto start = parse_unsigned(range.substr(0, range.find('-')), 16);
  const auto path_at = text.find('/');
  if (!offset || !inode || !start || rights.size() < 4 || path_at == std::string_view::npos ||
      text.find_first_not_of(' ') != path_at) {
    return std::nullopt;
  }
  std::string_view path = text.substr(path_at);
  const bool deleted = path.ends_with(kDeleted);
  if (deleted) path.remove_suffix(kDeleted.size());
  return Line{{unescaped(path), *inode, deleted, *start, *offset}, rights[2] == 'x'};
}

}  // namespace

std::vector<FileMapping> executable_files(std::string_view maps) {
  std::vector<FileMapping> files;
  std::vector<bool> executable;
  const auto known = [&](const FileMapping& mapping) {
    // From the back: the mappings of one file are neighbours.
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].inode == mapping.inode && files[i].path == mapping.path) return i;
    }
    return files.size();
  };
  for (const std::string_view text : split(maps, '\n')) {
    auto line = parse_line(text);
    if (!line) continue;
    const std::size_t at = known(line->mapping);
    if (at == files.size()) {
      files.push_back(std::move(line->mapping));
      executable.push_back(line->executable);
    } else if (line->executable) {
      executable[at] = true;
    }
  }
  std::vector<FileMapping> loaded;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (executable[i]) loaded.push_back(std::move(files[i]));
  }
  return loaded;
}

}  // namespace hwprof::blas
