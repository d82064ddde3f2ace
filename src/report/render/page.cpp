#include "src/report/render/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/render/printable.h"

namespace hwprof::report {
namespace {

constexpr int kGap = 2;     // blanks between two columns
constexpr int kIndent = 2;  // of the rows of a group

std::string_view escape_code(Tone tone) {
  switch (tone) {
    case Tone::kTitle:
      return "\x1b[1m";
    case Tone::kGood:
      return "\x1b[1;32m";
    case Tone::kBad:
      return "\x1b[1;31m";
    case Tone::kFaint:
      return "\x1b[2m";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string blanks(int count) {
  return std::string(static_cast<std::size_t>(std::max(0, count)), ' ');
}

std::string pad(const std::string& text, int width, bool left) {
  const std::string fill = blanks(width - display_width(text));
  return left ? text + fill : fill + text;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(at, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

bool grouped(const Table& table) {
  return !table.rows.empty() && !table.rows.front().group.empty();
}

std::vector<int> column_widths(const Table& table) {
  std::vector<int> widths(table.columns.size(), 0);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    for (const std::string& part : split(table.columns[i].title, '\n')) {
      widths[i] = std::max(widths[i], display_width(printable(part)));
    }
    for (const TableRow& row : table.rows) {
      widths[i] = std::max(widths[i], display_width(printable(row.cells[i])));
    }
  }
  if (grouped(table)) widths[0] += kIndent;
  return widths;
}

}  // namespace

void Page::line(std::string_view text, Tone tone) {
  const auto end = text.find_last_not_of(' ');
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const std::string_view code = style_.colour ? escape_code(tone) : "";
  out_ += fmt::format("{}{}{}\n", code, text, code.empty() ? "" : "\x1b[0m");
}

void Page::paragraph(std::string_view text, int indent, int hang, Tone tone) {
  std::string current = blanks(indent);
  int width = indent;
  bool empty = true;  // no word in the line yet
  for (const std::string& word : split(printable(text), ' ')) {
    const int more = display_width(word);
    if (!empty && width + 1 + more > style_.columns) {
      line(current, tone);
      current = blanks(hang);
      width = hang;
    } else if (!empty) {
      current += ' ';
      ++width;
    }
    current += word;
    width += more;
    empty = false;
  }
  line(current, tone);
}

void Page::fields(const std::vector<Field>& fields) {
  int label = 0;
  for (const Field& field : fields) label = std::max(label, display_width(field.label));
  for (const Field& field : fields) {
    paragraph(pad(field.label, label, true) + blanks(kGap) + field.text, 0, label + kGap);
  }
}

void Page::block(const Table& table, const std::vector<std::size_t>& columns,
                 const std::vector<int>& widths) {
  std::size_t height = 0;
  for (const std::size_t i : columns) {
    height = std::max(height, split(table.columns[i].title, '\n').size());
  }
  for (std::size_t at = 0; at < height; ++at) {
    std::string text;
    for (const std::size_t i : columns) {
      const auto parts = split(table.columns[i].title, '\n');
      const std::size_t above = height - parts.size();  // titles stand on the table, not above it
      const std::string part = at < above ? "" : printable(parts[at - above]);
      text += pad(part, widths[i], table.columns[i].left) + blanks(kGap);
    }
    line(text, Tone::kFaint);
  }
  const std::string* group = nullptr;
  for (const TableRow& row : table.rows) {
    if (!row.group.empty() && (!group || *group != row.group)) {
      paragraph(row.group, 0, 2 * kIndent);
      group = &row.group;
    }
    std::string text;
    int last = 0;  // where the last column starts: only that one can be too wide, and is wrapped
    for (const std::size_t i : columns) {
      last = display_width(text);
      const std::string indent = blanks(i == 0 && grouped(table) ? kIndent : 0);
      text += pad(indent + printable(row.cells[i]), widths[i], table.columns[i].left);
      if (i != columns.back()) text += blanks(kGap);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    paragraph(text, 0, last);
  }
}

void Page::table(const Table& table) {
  if (table.rows.empty() && table.notes.empty()) return;
  blank();
  paragraph(table.title, 0, kIndent, Tone::kTitle);
  const std::vector<int> widths = column_widths(table);
  bool first = true;
  for (std::size_t next = 1; !table.rows.empty() && next < widths.size();) {
    std::vector<std::size_t> columns = {0};  // each block repeats the name of the row
    int width = widths[0];
    while (next < widths.size() &&
           (columns.size() == 1 || width + kGap + widths[next] <= style_.columns)) {
      width += kGap + widths[next];
      columns.push_back(next++);
    }
    if (!first) blank();
    block(table, columns, widths);
    first = false;
  }
  for (const std::string& note : table.notes) paragraph(note, kIndent, 2 * kIndent);
}

}  // namespace hwprof::report
