#include "src/observe/proc/maps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/text.h"

namespace hwprof::observe {
namespace {

// The next word of `rest`, which is left behind it.
std::string_view take_word(std::string_view& rest) {
  const auto begin = std::min(rest.find_first_not_of(' '), rest.size());
  const auto end = std::min(rest.find(' ', begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

// The two numbers of "7f00-7f10" and "fd:01", hexadecimal.
std::optional<std::pair<std::uint64_t, std::uint64_t>> pair_of(std::string_view text, char sign) {
  const auto parts = split(text, sign);
  if (parts.size() != 2) return std::nullopt;
  const auto first = parse_unsigned(parts[0], 16), second = parse_unsigned(parts[1], 16);
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

// The kernel writes a newline of a path as \012 and escapes nothing else (proc(5)).
std::string unescaped(std::string_view path) {
  std::string text(path);
  for (auto at = text.find("\\012"); at != std::string::npos; at = text.find("\\012", at + 1)) {
    text.replace(at, 4, "\n");
  }
  return text;
}

// "7f2c4c000000-7f2c4c200000 r-xp 00001000 fe:00 1234    /usr/lib/libblas.so.3"
std::optional<MapsLine> parse_line(std::string_view rest) {
  const auto range = pair_of(take_word(rest), '-');
  const std::string_view rights = take_word(rest);
  const auto offset = parse_unsigned(take_word(rest), 16);
  const auto device = pair_of(take_word(rest), ':');
  const auto inode = parse_unsigned(take_word(rest));
  if (!range || range->second <= range->first || rights.size() < 4 || !offset || !device ||
      !inode) {
    return std::nullopt;
  }
  MapsLine line{.start = range->first,
                .end = range->second,
                .offset = *offset,
                .file = {static_cast<std::uint32_t>(device->first),
                         static_cast<std::uint32_t>(device->second), *inode},
                .writable = rights[1] == 'w',
                .executable = rights[2] == 'x',
                .shared = rights[3] == 's',
                .deleted = false,
                .path = unescaped(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())))};
  line.deleted = take_deleted_mark(line.path);
  return line;
}

}  // namespace

std::vector<MapsLine> parse_maps(std::string_view maps) {
  std::vector<MapsLine> lines;
  for (const std::string_view text : split(maps, '\n')) {
    if (auto line = parse_line(text)) lines.push_back(*std::move(line));
  }
  return lines;
}

std::vector<Mapped> mapped_code(int pid, std::string_view maps) {
  std::vector<Mapped> found;
  for (MapsLine& line : parse_maps(maps)) {
    if (!line.executable) continue;
    found.push_back({.pid = pid,
                     .start = line.start,
                     .length = line.end - line.start,
                     .offset = line.offset,
                     .file = line.file,
                     .path = line.path.empty() ? "//anon" : std::move(line.path),
                     .deleted = line.deleted,
                     .takes_probes = !line.writable && !line.shared});
  }
  return found;
}

std::vector<FileMapping> executable_files(std::string_view maps) {
  struct File {
    FileMapping mapping;
    bool executable;
  };
  std::vector<File> files;
  for (MapsLine& line : parse_maps(maps)) {
    if (!line.path.starts_with('/')) continue;
    // From the back: the mappings of one file are neighbours.
    const auto known = std::find_if(files.rbegin(), files.rend(), [&](const File& file) {
      return file.mapping.file == line.file && file.mapping.path == line.path;
    });
    if (known != files.rend()) {
      known->executable = known->executable || line.executable;
    } else {
      files.push_back({{std::move(line.path), line.file, line.deleted, line.start, line.offset},
                       line.executable});
    }
  }
  std::vector<FileMapping> loaded;
  for (File& file : files) {
    if (file.executable) loaded.push_back(std::move(file.mapping));
  }
  return loaded;
}

}  // namespace hwprof::observe
