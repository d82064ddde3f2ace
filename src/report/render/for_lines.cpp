#include <fmt/format.h>

#include <algorithm>

#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

void shorten(Table& table) {
  if (table.most_rows == 0 || table.rows.size() <= table.most_rows) return;
  table.notes.insert(table.notes.begin(),
                     fmt::format("and {} more", table.rows.size() - table.most_rows));
  table.rows.resize(table.most_rows);
}

}  // namespace

std::string words_of(const Headline& head) {
  if (head.fix.empty()) return head.text;
  return fmt::format("{}{}Fix: {}", head.text, head.text.empty() ? "" : " ", head.fix);
}

std::string one_line(std::string title) {
  if (const auto at = title.find("/\n"); at != title.npos) title.erase(at + 1, 1);
  std::replace(title.begin(), title.end(), '\n', ' ');
  return title;
}

Document for_lines(const Document& document) {
  Document lines;
  for (const Block& block : document.blocks) {
    if (block.detail == Detail::kPage) continue;
    lines.blocks.push_back(block);
    if (auto* table = std::get_if<Table>(&lines.blocks.back().content)) shorten(*table);
  }
  return lines;
}

}  // namespace hwprof::report
