#include "src/workloads/inputs/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/workloads/inputs/line_reader.h"
#include "src/workloads/inputs/tokens.h"

namespace hwprof {
namespace {

constexpr std::size_t kNoColumns = 0;  // plain text: the whole line is the document

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\f\v") == std::string_view::npos;
}

std::size_t count_columns(std::string_view line) {
  return 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), '\t'));
}

// How many columns the lines have, and where each kind first occurs.
struct ColumnCensus {
  struct Kind {
    std::uint64_t lines = 0;
    std::uint64_t first_line = 0;
    std::size_t columns = 0;  // of that first line
  };
  enum : std::size_t { kTwo, kThree, kOther, kKinds };
  std::array<Kind, kKinds> kinds;

  void add(std::uint64_t line_number, std::size_t columns) {
    Kind& kind = kinds[columns == 2 ? kTwo : columns == 3 ? kThree : kOther];
    if (kind.lines++ == 0) {
      kind.first_line = line_number;
      kind.columns = columns;
    }
  }
  // The earliest line that is not of `kind`; there is one.
  [[nodiscard]] const Kind& first_odd(std::size_t kind) const {
    const Kind* first = nullptr;
    for (std::size_t i = 0; i < kKinds; ++i) {
      if (i == kind || kinds[i].lines == 0) continue;
      if (first == nullptr || kinds[i].first_line < first->first_line) first = &kinds[i];
    }
    return *first;
  }
};

// Number of columns, or kNoColumns for plain text.
Result<std::size_t> judge(const ColumnCensus& census, const std::string& path) {
  const std::uint64_t two = census.kinds[ColumnCensus::kTwo].lines;
  const std::uint64_t three = census.kinds[ColumnCensus::kThree].lines;
  const std::uint64_t all = two + three + census.kinds[ColumnCensus::kOther].lines;
  if (all == 0) return kNoColumns;
  if (two == all) return 2;
  if (three == all) return 3;
  // Few tabs: text that happens to hold some.
  if ((two + three) * 10 < all * 9) return kNoColumns;
  const bool mostly_two = two >= three;
  const auto& odd = census.first_odd(mostly_two ? ColumnCensus::kTwo : ColumnCensus::kThree);
  return usage_error(
      fmt::format("line {} of {} has {} TAB-separated column{}, but {} of {} lines have {}",
                  odd.first_line, path, odd.columns, odd.columns == 1 ? "" : "s",
                  std::max(two, three), all, mostly_two ? 2 : 3),
      "mend that line, or give --docs-format lines if this is plain text");
}

Result<std::size_t> find_columns(LineReader& reader, const std::string& path) {
  if (auto kept = reader.keep(); !kept) return error_of(kept);
  ColumnCensus census;
  for (;;) {
    const auto line = reader.next();
    if (!line) return error_of(line);
    if (!*line) break;
    if (!is_blank(**line)) census.add(reader.line_number(), count_columns(**line));
  }
  auto columns = judge(census, path);
  if (!columns) return columns;
  if (auto back = reader.rewind(); !back) return error_of(back);
  return columns;
}

Result<void> check_utf8(std::string_view line, const LineReader& reader) {
  const auto offset = find_invalid_utf8(line);
  if (!offset) return {};
  const auto byte = static_cast<unsigned char>(line[*offset]);
  const bool utf16 = reader.line_number() == 1 && *offset == 0 && (byte == 0xff || byte == 0xfe);
  return usage_error(
      fmt::format("{} is not UTF-8: byte {} of the line is 0x{:02x}", reader.place(), *offset + 1,
                  byte),
      fmt::format("convert the file: iconv -f {} -t utf-8", utf16 ? "utf-16" : "latin1"));
}

// The last column of a line that has as many as it must.
Result<std::string_view> text_column(std::string_view line, std::size_t& columns,
                                     const LineReader& reader) {
  const std::size_t found = count_columns(line);
  if (columns == kNoColumns && (found == 2 || found == 3)) columns = found;  // the first line rules
  if (found != columns) {
    return usage_error(
        fmt::format("{} has {} TAB-separated column{}, not {}", reader.place(), found,
                    found == 1 ? "" : "s",
                    columns == kNoColumns ? "2 or 3" : fmt::format("{} as before", columns)),
        "LibMultiLabel's format is [ID]<TAB>labels<TAB>text; plain text: --docs-format lines");
  }
  return line.substr(line.rfind('\t') + 1);
}

}  // namespace

WordId Vocabulary::intern(std::string_view word) {
  if (const auto known = ids_.find(word); known != ids_.end()) return known->second;
  const auto id = static_cast<WordId>(words_.size());
  ids_.emplace(words_.emplace_back(word), id);
  return id;
}

Result<DocumentSet> read_documents(const std::string& path, DocsFormat format) {
  auto reader = LineReader::open(path);
  if (!reader) return error_of(reader);
  const std::string name = path == "-" ? "standard input" : path;
  std::size_t columns = kNoColumns;
  if (format == DocsFormat::kAuto) {
    const auto found = find_columns(*reader, name);
    if (!found) return error_of(found);
    columns = *found;
  }
  const bool tabular = columns != kNoColumns || format == DocsFormat::kLibMultiLabel;

  DocumentSet set;
  const std::function<void(std::string_view)> add_word = [&set](std::string_view word) {
    set.words.push_back(set.vocabulary.intern(word));
  };
  for (;;) {
    const auto next = reader->next();
    if (!next) return error_of(next);
    if (!*next) break;
    std::string_view text = **next;
    if (is_blank(text)) {
      ++set.blank_lines;
      continue;
    }
    if (auto valid = check_utf8(text, *reader); !valid) return error_of(valid);
    if (tabular) {
      const auto column = text_column(text, columns, *reader);
      if (!column) return error_of(column);
      text = *column;
    }
    if (tokenize(text, DocumentSet::kMaxWords, add_word)) ++set.truncated_documents;
    if (set.words.size() == set.start.back()) ++set.empty_documents;
    set.start.push_back(set.words.size());
  }
  if (set.size() == 0) {
    return usage_error(fmt::format("{} holds no document", name),
                       "one document a line, or LibMultiLabel's [ID]<TAB>labels<TAB>text");
  }
  set.source = tabular ? fmt::format("{} (LibMultiLabel, {} columns)", name, columns)
                       : fmt::format("{} (one document a line)", name);
  return set;
}

}  // namespace hwprof
