// Everything that reaches the page passes through printable() here, so no builder can forget it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/report/printable.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

enum class Tone { kPlain, kTitle, kGood, kBad, kFaint };

constexpr int kGap = 2;     // blanks between two columns
constexpr int kIndent = 2;  // of the rows of a group, and of what is wrapped

Tone tone_of(const Headline& head) {
  if (!head.judged) return Tone::kTitle;
  return head.good ? Tone::kGood : Tone::kBad;
}

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

int longest_word(std::string_view text) {
  int longest = 0;
  for (const std::string& word : split(printable(text), ' '))
    longest = std::max(longest, display_width(word));
  return longest;
}

// Blocks of one kind stand together, without a blank line between them.
enum class Kind { kNone, kHead, kProse, kOther };

Kind kind_of(const Block& block) {
  if (std::holds_alternative<Headline>(block.content)) return Kind::kHead;
  const auto* paragraph = std::get_if<Paragraph>(&block.content);
  if (paragraph == nullptr) return Kind::kOther;
  const bool prose =
      paragraph->kind == Paragraph::Kind::kPlain || paragraph->kind == Paragraph::Kind::kCommand;
  return prose ? Kind::kProse : Kind::kHead;
}

bool says_nothing(const Block& block, bool full) {
  if (const auto* table = std::get_if<Table>(&block.content))
    return table->rows.empty() && (full ? table->notes : table->brief).empty();
  if (const auto* fields = std::get_if<Fields>(&block.content)) return fields->rows.empty();
  if (const auto* plot = std::get_if<Plot>(&block.content)) return plot->series.empty();
  return false;
}

class Page {
 public:
  explicit Page(const TextStyle& style) : style_(style) {}

  std::string print(const Document& document) {
    Kind before = Kind::kNone;
    for (const Block& block : document.blocks) {
      const bool elsewhere = block.detail == (style_.full ? Detail::kBrief : Detail::kFull);
      if (elsewhere || says_nothing(block, style_.full)) {
        if (!style_.full && !says_nothing(block, true))
          std::visit([this](const auto& content) { hide(content); }, block.content);
        continue;
      }
      const Kind kind = kind_of(block);
      if (before != Kind::kNone && (kind != before || kind == Kind::kOther)) out_ += '\n';
      before = kind;
      std::visit([this](const auto& content) { print(content); }, block.content);
    }
    if (!hidden_.empty()) {
      out_ += '\n';
      paragraph(fmt::format("--full shows more: {}.", fmt::join(hidden_, ", ")), 0, 0,
                Tone::kFaint);
    }
    return std::move(out_);
  }

 private:
  void print(const Headline& head) { paragraph(words_of(head), 0, 0, tone_of(head)); }

  void print(const Paragraph& text) {
    switch (text.kind) {
      case Paragraph::Kind::kLine:
        return line(printable(text.text), Tone::kPlain);
      case Paragraph::Kind::kCommand:
        return paragraph("$ " + text.text, 0, kIndent);
      case Paragraph::Kind::kRemark:
        return paragraph(text.text, 0, kIndent);
      case Paragraph::Kind::kFix:
        return paragraph("fix: " + text.text, 0, kIndent);
      case Paragraph::Kind::kAlert:
        return paragraph(text.text, 0, 0, Tone::kBad);
      case Paragraph::Kind::kPlain:
        return paragraph(text.text, 0, 0);
    }
  }

  // "Label      text", wrapped below the text.
  void print(const Fields& fields) {
    if (!fields.title.empty()) paragraph(fields.title, 0, kIndent, Tone::kTitle);
    int label = 0;
    for (const Field& field : fields.rows)
      label = std::max(label, display_width(printable(field.label)));
    const int hang = std::min(label + kGap, style_.columns / 3);
    for (const Field& field : fields.rows) {
      const Tone tone = fields.good ? Tone::kPlain : Tone::kBad;
      paragraph(pad(field.label, label, true) + blanks(kGap) + field.text, 0, hang, tone);
      for (const std::string& text : field.more) paragraph(text, hang, hang + kIndent, tone);
    }
  }

  // Title, then as many columns as fit, then the rest in further blocks, then the notes.
  void print(const Table& table) {
    if (!table.title.empty()) paragraph(table.title, 0, kIndent, Tone::kTitle);
    const std::vector<int> widths = column_widths(table);
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (style_.full || !table.columns[i].full) shown.push_back(i);
    if (shown.size() < table.columns.size()) hide_title("all columns");
    for (std::size_t next = 1; !table.rows.empty() && next < shown.size();) {
      if (next > 1) out_ += '\n';
      std::vector<std::size_t> columns = {shown[0]};  // each block repeats the name of the row
      int width = widths[shown[0]];
      while (next < shown.size() &&
             (columns.size() == 1 || width + kGap + widths[shown[next]] <= style_.columns ||
              (next + 1 == shown.size() && can_wrap(table, shown[next], width + kGap)))) {
        width += kGap + widths[shown[next]];
        columns.push_back(shown[next++]);
      }
      block(table, columns, widths);
    }
    for (const std::string& note : style_.full ? table.notes : table.brief)
      paragraph(note, kIndent, 2 * kIndent);
  }

  void print(const Chart&) {}  // of the page alone: for_lines() has left it out

  void print(const Plot& plot) {
    for (const std::string& text : plot_lines(plot, style_.columns)) paragraph(text);
  }

  void hide(const Table& table) { hide_title(table.title); }
  void hide(const Fields& fields) { hide_title(fields.title); }
  void hide(const Plot&) { hide_title("a plot"); }
  void hide_title(const std::string& title) {
    std::string name = title.substr(0, title.find_first_of(":,("));
    name.resize(name.find_last_not_of(' ') + 1);
    if (name.empty() || std::find(hidden_.begin(), hidden_.end(), name) != hidden_.end()) return;
    hidden_.push_back(std::move(name));
  }
  template <class Content>
  void hide(const Content&) {}

  void line(std::string_view text, Tone tone) {
    const auto end = text.find_last_not_of(' ');
    text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
    const std::string_view code = style_.colour ? escape_code(tone) : "";
    out_ += fmt::format("{}{}{}\n", code, text, code.empty() ? "" : "\x1b[0m");
  }

  // Wrapped at blanks; the first line starts `indent` columns in, the others `hang`. A word that is
  // longer than the line is never broken: paths must stay whole to be copied.
  void paragraph(std::string_view text, int indent = 0, int hang = 0, Tone tone = Tone::kPlain) {
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

  // Words of a last column may go on below each other, unless that leaves a narrow stripe or breaks
  // a path.
  [[nodiscard]] bool can_wrap(const Table& table, std::size_t column, int before) const {
    const int room = style_.columns - before;
    if (!table.columns[column].left || room < style_.columns / 4) return false;
    int longest = 0;
    for (const std::string& part : split(table.columns[column].title, '\n'))
      longest = std::max(longest, display_width(part));
    for (const TableRow& row : table.rows)
      longest = std::max(longest, longest_word(row.cells[column]));
    return longest <= room;
  }

  void block(const Table& table, const std::vector<std::size_t>& columns,
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

  TextStyle style_;
  std::string out_;
  std::vector<std::string> hidden_;  // titles of what only --full shows
};

}  // namespace

std::string as_text(const Document& document, const TextStyle& style) {
  return Page(style).print(for_lines(document));
}

}  // namespace hwprof::report
