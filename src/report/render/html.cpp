// The page: everything that a terminal would say as landmarks, headings and tables, which need no
// script; the records' JSON; and the script that draws from it (src/report/html).
//
// What comes from outside (names of programs, symbols, documents, regions) reaches the page through
// html_text() or in JSON whose "<" are escaped, and the page's Content-Security-Policy names the
// one style and the one script that it may have, by their hashes: a name that got out of its place
// would still run nothing.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/base/text.h"
#include "src/report/html/assets.h"
#include "src/report/printable.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

struct SectionName {
  Section section;
  std::string_view id, title;
};

constexpr SectionName kSections[] = {
    {Section::kVerdict, "verdict", "Verdict"},
    {Section::kChecks, "checks", "Checks"},
    {Section::kComparison, "comparison", "Comparison"},
    {Section::kRoofline, "roofline", "Roofline"},
    {Section::kLayers, "layers", "Layers"},
    {Section::kComplexity, "complexity", "Time against complexity"},
    {Section::kHotspots, "hotspots", "Where the time goes"},
    {Section::kRegions, "regions", "Regions and trace"},
    {Section::kLadder, "ladder", "Ladder"},
    {Section::kCounters, "counters", "Counters"},
    {Section::kNoise, "noise", "Noise"},
    {Section::kMachine, "machine", "Machine"},
};

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : hwprof::split(text, '\n')) out += html_text(line) + "\n";
  return out;
}

// In JSON these stand in strings alone. Nothing in it can end its element, or begin a comment.
// Without indentation, which is a third of it: no string has a line end.
std::string json_for_page(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  bool indents = false;
  for (const char c : json) {
    indents = c == '\n' || (indents && c == ' ');
    if (indents) continue;
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else {
      out += c;
    }
  }
  return out;
}

// The value of the record's first key, which is its schema: `{"schema": "hwprof.run/1", ...`.
std::string_view schema_of(std::string_view json) {
  const auto key = json.find("\"schema\"");
  const auto colon = json.find(':', key);
  const auto begin = json.find('"', colon);
  if (begin == std::string_view::npos) return "";
  return json.substr(begin + 1, json.find('"', begin + 1) - begin - 1);
}

std::string html_heading(const std::string& title) {
  return title.empty() ? "" : fmt::format("<h3>{}</h3>\n", html_text(title));
}

std::string command(std::string_view text) {
  return fmt::format("<pre class=\"command\"><code>{}</code></pre>\n", html_text(text));
}

// What is read first: up to a colon or the first full stop. "BLAS UNOPTIMISED: 21 times faster is
// possible:" of a text that goes on with the reasons; a colon behind a word or two ends nothing.
std::size_t end_of_lead(std::string_view text) {
  constexpr std::size_t kName = 24;
  return std::min(text.find(". "), text.find(": ", kName));
}

// Not by colour alone.
struct Look {
  std::string_view name, sign;
};
Look look_of(const Headline& head) {
  if (!head.judged) return {"unjudged", "?"};
  return head.good ? Look{"good", "✓"} : Look{"bad", "!"};
}

std::string html_of(const Headline& head) {
  const Look look = look_of(head);
  const std::string_view text = head.text;
  const std::size_t end = end_of_lead(text);
  std::string out;
  if (!text.empty()) {
    out =
        fmt::format("<p class=\"headline {}\"><span class=\"sign\" aria-hidden=\"true\">{}</span> ",
                    look.name, look.sign);
    out += end == text.npos
               ? html_text(text)
               : fmt::format("<strong>{}</strong>{}", html_text(text.substr(0, end + 1)),
                             html_text(text.substr(end + 1)));
    out += "</p>\n";
  }
  return head.fix.empty() ? out : out + "<p class=\"remark\">Fix:</p>\n" + command(head.fix);
}

std::string html_of(const Paragraph& text) {
  const std::string words = html_text(text.text);
  switch (text.kind) {
    case Paragraph::Kind::kPlain:
      return fmt::format("<p>{}</p>\n", words);
    case Paragraph::Kind::kRemark:
      return fmt::format("<p class=\"remark\">{}</p>\n", words);
    case Paragraph::Kind::kAlert:
      return fmt::format("<p class=\"alert\">{}</p>\n", words);
    case Paragraph::Kind::kCommand:
      return command(text.text);
    case Paragraph::Kind::kFix:
      return "<p class=\"remark\">Fix:</p>\n" + command(text.text);
    case Paragraph::Kind::kLine:
      return fmt::format("<pre class=\"line\"><code>{}</code></pre>\n", words);
  }
  return "";
}

std::string html_of(const Fields& fields) {
  if (fields.rows.empty()) return "";
  std::string out = html_heading(fields.title);
  out += fmt::format("<dl class=\"fields{}\">\n", fields.good ? "" : " warnings");
  for (const Field& field : fields.rows) {
    out += fmt::format("<div><dt>{}</dt><dd>{}", html_text(field.label), html_text(field.text));
    for (const std::string& text : field.more) out += "<br>" + html_text(text);
    out += "</dd></div>\n";
  }
  return out + "</dl>\n";
}

// A bar of characters has no title: the page draws bars.
bool is_shown(const Column& column) { return !column.title.empty(); }

std::string class_of(const Column& column) { return column.left ? " class=\"left\"" : ""; }

std::string html_of(const Table& table, const TableRow& row) {
  std::string out = row.of.empty() ? "<tr>" : fmt::format("<tr data-of=\"{}\">", html_text(row.of));
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (!is_shown(table.columns[i])) continue;
    const std::string left = class_of(table.columns[i]);
    out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", left, html_text(row.cells[i]))
                  : fmt::format("<td{}>{}</td>", left, html_text(row.cells[i]));
  }
  return out + "</tr>\n";
}

// Rows of one group in a body of their own, below the group's name.
std::string bodies(const Table& table) {
  std::string out;
  const std::string* group = nullptr;
  for (const TableRow& row : table.rows) {
    if (group == nullptr || *group != row.group) {
      if (group != nullptr) out += "</tbody>\n";
      out += "<tbody>\n";
      if (!row.group.empty())
        out +=
            fmt::format("<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                        std::count_if(table.columns.begin(), table.columns.end(), is_shown),
                        html_text(row.group));
      group = &row.group;
    }
    out += html_of(table, row);
  }
  return out + "</tbody>\n";
}

std::string html_of(const Table& table) {
  if (table.rows.empty() && table.notes.empty()) return "";
  const std::string title = html_text(table.title);
  const bool grouped = !table.rows.empty() && !table.rows.front().group.empty();
  std::string out;
  if (table.rows.empty()) {
    out += html_heading(table.title);
  } else {
    out += fmt::format(
        "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">"
        "<table{1}>\n<caption>{0}</caption>\n<thead><tr>",
        title, grouped ? fmt::format(" data-group=\"{}\"", html_text(table.groups)) : "");
    for (const Column& column : table.columns)
      if (is_shown(column))
        out += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(column),
                           html_text(one_line(column.title)));
    out += fmt::format("</tr></thead>\n{}</table></div>\n", bodies(table));
  }
  if (table.notes.empty()) return out;
  out += "<ul class=\"notes\">\n";
  for (const std::string& note : table.notes) out += fmt::format("<li>{}</li>\n", html_text(note));
  return out + "</ul>\n";
}

// The script draws it anew, in its chart.
std::string html_of(const Plot&) { return ""; }

std::string html_of(const Chart& chart) {
  const std::string text = html_text(chart.text);
  return fmt::format(
      "<figure class=\"chart\" data-chart=\"{}\" aria-label=\"{}\"><figcaption>{}</figcaption>"
      "</figure>\n",
      html_text(chart.name), text, text);
}

// Behind the verdict, what it rests on is there to be opened.
bool is_folded(const Block& block) {
  return block.section == Section::kVerdict && (std::holds_alternative<Table>(block.content) ||
                                                std::holds_alternative<Fields>(block.content));
}

std::string block_title(const Block& block) {
  if (const auto* fields = std::get_if<Fields>(&block.content)) return fields->title;
  if (const auto* table = std::get_if<Table>(&block.content)) return table->title;
  return "";
}

std::string html_of(const Block& block) {
  std::string out = std::visit([](const auto& content) { return html_of(content); }, block.content);
  const std::string title = block_title(block);
  if (out.empty() || !is_folded(block) || title.empty()) return out;
  if (const std::string twice = html_heading(title); out.starts_with(twice))
    out.erase(0, twice.size());
  return fmt::format("<details class=\"more\"><summary>{}</summary>\n{}</details>\n",
                     html_text(title), out);
}

// The blocks of one section.
std::string blocks_of(const Document& document, Section section) {
  std::string out;
  for (const Block& block : document.blocks)
    if (block.section == section && block.detail != Detail::kBrief) out += html_of(block);
  return out;
}

struct Part {
  std::string_view id, title;
  std::string html;
};

std::vector<Part> parts_of(const Document& document) {
  std::vector<Part> parts;
  for (const SectionName& name : kSections)
    if (std::string html = blocks_of(document, name.section); !html.empty())
      parts.push_back({name.id, name.title, std::move(html)});
  return parts;
}

// `several`: landmarks of several reports are told apart by their reports' names.
std::string article(const PageReport& report, const std::vector<Part>& parts, const std::string& id,
                    bool several) {
  std::string out = fmt::format(
      "<article class=\"report\" id=\"{0}\" data-schema=\"{1}\" data-json=\"{0}-json\" "
      "aria-labelledby=\"{0}-title\">\n<h1 id=\"{0}-title\">{2}</h1>\n",
      id, html_text(schema_of(report.json)), html_text(report.document.title));
  for (const Part& part : parts) {
    out += fmt::format(
        "<section id=\"{0}-{1}\" data-section=\"{1}\" aria-labelledby=\"{4}{0}-{1}-title\">\n"
        "<h2 id=\"{0}-{1}-title\">{2}</h2>\n{3}</section>\n",
        id, part.id, part.title, part.html, several ? id + "-title " : "");
  }
  return out + "</article>\n";
}

std::string links(const std::vector<Part>& parts, const std::string& id) {
  std::string out = "<ul>";
  for (const Part& part : parts)
    out += fmt::format("<li><a href=\"#{}-{}\">{}</a></li>", id, part.id, part.title);
  return out + "</ul>";
}

std::string content_security_policy() {
  const PageAssets& assets = kPageAssets;
  return fmt::format(
      "default-src 'none'; style-src '{}'; script-src {}; base-uri 'none'; "
      "form-action 'none'",
      assets.style_hash,
      assets.script.empty() ? "'none'" : fmt::format("'{}'", assets.script_hash));
}

std::string foot() {
  const bool draws = !kPageAssets.script.empty();
  std::string out =
      fmt::format("<footer class=\"page\">\n<p>Made by hwprof {}. {}</p>\n", HWPROF_VERSION,
                  draws ? "The numbers are those of the JSON inside this file."
                        : "This hwprof was built without charts (esbuild and D3 were "
                          "not there): the tables have all numbers.");
  if (draws)
    out += fmt::format(
        "<details class=\"licence\"><summary>Charts are drawn with D3</summary>\n<pre>{}</pre>"
        "</details>\n",
        html_lines(kPageAssets.licence));
  return out + "</footer>\n";
}

}  // namespace

std::string as_html(std::span<const PageReport> reports) {
  const bool several = reports.size() > 1;
  std::string navigation, articles, data;
  std::size_t number = 0;
  for (const PageReport& report : reports) {
    const std::string id = fmt::format("r{}", ++number);
    const std::vector<Part> parts = parts_of(report.document);
    const std::string list = links(parts, id);
    navigation += several ? fmt::format("<li><a href=\"#{}\">{}</a>{}</li>\n", id,
                                        html_text(report.document.title), list)
                          : list;
    articles += article(report, parts, id, several);
    data += fmt::format("<script type=\"application/json\" id=\"{}-json\">{}</script>\n", id,
                        json_for_page(report.json));
  }
  if (several) navigation = "<ul>\n" + navigation + "</ul>";
  const std::string title =
      several ? fmt::format("hwprof: {} reports", reports.size())
              : html_text(reports.empty() ? "hwprof" : reports.front().document.title);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"{}>\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#r1\">Skip to the report</a>\n"
      "<header class=\"page\"><p class=\"brand\">hwprof</p>\n"
      "<nav aria-label=\"Sections\">{}</nav></header>\n<main>\n{}</main>\n{}{}",
      kPageAssets.script.empty() ? "" : " class=\"scripted\"", content_security_policy(), title,
      kPageAssets.style, navigation, articles, foot(), data);
  if (!kPageAssets.script.empty()) page += fmt::format("<script>{}</script>\n", kPageAssets.script);
  return page + "</body>\n</html>\n";
}

}  // namespace hwprof::report
