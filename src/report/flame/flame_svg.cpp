// The drawing and the page around it. Names stand in it as text only, never in the script: that
// reads them back from the document, so no name can become code.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "src/report/flame/flame.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

// Stacks merged from their outermost frame on.
struct FlameNode {
  std::uint64_t samples = 0;                 // with all that it called
  std::map<std::string, FlameNode> callees;  // by name
};

FlameNode flame_tree(std::span<const FoldedStack> stacks) {
  FlameNode root;
  for (const FoldedStack& stack : stacks) {
    root.samples += stack.samples;
    FlameNode* node = &root;
    for (const std::string& frame : stack.frames) {
      node = &node->callees[frame];
      node->samples += stack.samples;
    }
  }
  return root;
}

// Frames on top of each other, the root not counted.
std::size_t depth_of(const FlameNode& node) {
  std::size_t deepest = 0;
  for (const auto& [name, callee] : node.callees) {
    deepest = std::max(deepest, 1 + depth_of(callee));
  }
  return deepest;
}

// For text and attributes of XML and HTML: invisible characters shown as their escapes, the five
// that mean something there as entities.
std::string xml_text(const std::string& name) {
  std::string text;
  for (const char c : printable(name)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

constexpr double kWidth = 1200, kMargin = 10, kRow = 17, kTop = 54, kBottom = 34;
constexpr double kCharacter = 6.7;   // of the 11 px monospaced font
constexpr double kNarrowest = 0.15;  // boxes below that cannot be seen, and may be many thousands

// Warm hues by name, so that one function has one colour in every graph; what computes in a BLAS
// and what is generated stand out by a hue of their own.
std::string colour(const std::string& name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  const bool kernel = name == "[kernel]", generated = name == "[generated code]";
  const int hue = kernel ? 265 : generated ? 165 : 8 + static_cast<int>(hash % 44U);
  const int light = 66 + static_cast<int>((hash >> 8U) % 12U);
  return fmt::format("hsl({},{}%,{}%)", hue, kernel || generated ? 45 : 82, light);
}

std::string shortened(const std::string& name, double width) {
  const auto room = static_cast<int>((width - 6) / kCharacter);
  const std::string text = printable(name);
  if (room < 3) return "";
  if (display_width(text) <= room) return text;
  std::string part;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // of a UTF-8 character
    if (starts && display_width(part) >= room - 2) break;
    part += c;
  }
  return part + "..";
}

class Drawing {
 public:
  Drawing(const FlameNode& root, const FlameOptions& options)
      : options_(options),
        all_(root.samples),
        height_(kTop + kBottom + kRow * static_cast<double>(depth_of(root) + 1)) {
    add("all", root, kMargin, 0);
  }
  [[nodiscard]] double height() const { return height_; }
  [[nodiscard]] const std::string& boxes() const { return boxes_; }

 private:
  void add(const std::string& name, const FlameNode& node, double x, std::size_t depth) {
    const double width = all_ > 0 ? (kWidth - 2 * kMargin) * static_cast<double>(node.samples) /
                                        static_cast<double>(all_)
                                  : 0;
    if (width < kNarrowest) return;
    const double y = height_ - kBottom - kRow * static_cast<double>(depth + 1);
    const double share = 100.0 * static_cast<double>(node.samples) / static_cast<double>(all_);
    const std::string time =
        options_.hz > 0 ? fmt::format(", {:.3g} s", static_cast<double>(node.samples) / options_.hz)
                        : "";
    boxes_ += fmt::format(
        "<g class=\"f\" data-x=\"{:.2f}\" data-w=\"{:.2f}\" data-d=\"{}\"><title>{}\n{} samples, "
        "{:.2f} %{}</title><rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" "
        "fill=\"{}\"/><text x=\"{:.2f}\" y=\"{:.0f}\">{}</text></g>\n",
        x, width, depth, xml_text(name), node.samples, share, time, x, y, width, kRow - 1,
        colour(name), x + 3, y + 12, xml_text(shortened(name, width)));
    for (const auto& [callee_name, callee] : node.callees) {
      add(callee_name, callee, x, depth + 1);
      x += (kWidth - 2 * kMargin) * static_cast<double>(callee.samples) / static_cast<double>(all_);
    }
  }

  const FlameOptions& options_;
  std::uint64_t all_;
  double height_;
  std::string boxes_;
};

constexpr const char* kStyle = R"css(
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1c1c1c; pointer-events: none }
.title { font-size: 15px; font-weight: 600; font-family: sans-serif }
.detail { font-size: 12px; font-family: sans-serif; fill: #555 }
.button { font-size: 12px; font-family: sans-serif; fill: #1a56a8; cursor: pointer;
          pointer-events: auto }
.f rect { cursor: pointer; rx: 1.5px }
.f:hover rect { stroke: #222; stroke-width: 1 }
.under rect { opacity: .45 }
.found rect { fill: #b36bff }
.hidden { display: none }
)css";

// Zoom: the boxes under and above the one that was clicked are stretched; all others vanish.
// Search: a part of the name, without regard to case; never a pattern, which a name could upset.
constexpr const char* kScript = R"js(
(function () {
  var svg = document.currentScript ? document.currentScript.ownerSVGElement
                                   : document.documentElement;
  var boxes = Array.prototype.map.call(svg.querySelectorAll('.f'), function (g) {
    return { g: g, x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d,
             rect: g.querySelector('rect'), text: g.querySelector('text'),
             tip: g.querySelector('title').textContent };
  });
  boxes.forEach(function (b) { b.name = b.tip.slice(0, b.tip.lastIndexOf('\n')); });
  var left = +svg.dataset.left, full = +svg.dataset.full, character = +svg.dataset.character;
  var detail = svg.querySelector('.detail'), reset = svg.querySelector('.reset');
  var found = svg.querySelector('.matched'), wanted = '';
  function label(name, width) {
    var room = Math.floor((width - 6) / character);
    return room < 3 ? '' : name.length <= room ? name : name.slice(0, room - 2) + '..';
  }
  function zoom(to) {
    var scale = full / to.w, end = to.x + to.w, slack = 0.006;
    boxes.forEach(function (b) {
      var under = b.d < to.d && b.x <= to.x + slack && b.x + b.w >= end - slack;
      var inside = b.d >= to.d && b.x >= to.x - slack && b.x + b.w <= end + slack;
      b.g.classList.toggle('hidden', !under && !inside);
      b.g.classList.toggle('under', under);
      if (!under && !inside) return;
      var x = under ? left : left + (b.x - to.x) * scale, w = under ? full : b.w * scale;
      b.rect.setAttribute('x', x);
      b.rect.setAttribute('width', w);
      b.text.setAttribute('x', x + 3);
      b.text.textContent = label(b.name, w);
    });
    reset.classList.toggle('hidden', to === boxes[0]);
  }
  function search(text) {
    wanted = text.toLowerCase();
    var covered = 0, spans = [];
    boxes.forEach(function (b) {
      var hit = wanted !== '' && b.name.toLowerCase().indexOf(wanted) >= 0;
      b.g.classList.toggle('found', hit);
      if (hit) spans.push([b.x, b.x + b.w]);
    });
    spans.sort(function (a, b) { return a[0] - b[0]; });
    var end = -1;
    spans.forEach(function (s) {
      covered += Math.max(0, s[1] - Math.max(s[0], end));
      end = Math.max(end, s[1]);
    });
    found.textContent = wanted === '' ? '' : 'matched ' + (100 * covered / full).toFixed(1) + ' %';
  }
  function ask() {
    var text = window.prompt('Search for a part of a name (empty: none)', wanted);
    if (text !== null) search(text);
  }
  boxes.forEach(function (b) {
    b.g.addEventListener('click', function () { zoom(b); });
    b.g.addEventListener('mouseover', function () { detail.textContent = b.tip.replace('\n', '  '); });
    b.g.addEventListener('mouseout', function () { detail.textContent = svg.dataset.detail; });
  });
  reset.addEventListener('click', function () { if (boxes.length) zoom(boxes[0]); });
  svg.querySelector('.search').addEventListener('click', ask);
  window.addEventListener('keydown', function (event) {
    if (event.key === 'Escape') { if (boxes.length) zoom(boxes[0]); search(''); }
    if ((event.ctrlKey || event.metaKey) && event.key === 'f') { event.preventDefault(); ask(); }
  });
})();
)js";

// For those who have not read a flame graph before: a page around the drawing.
constexpr const char* kPageStyle = R"css(
body { margin: 2rem auto; max-width: 1800px; padding: 0 1.5rem; background: #fdfcf8;
       color: #1c1c1c; font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.25rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; max-width: 62rem }
dt { font-weight: 600 }
dd { margin: 0 }
i { display: inline-block; width: .9em; height: .9em; border-radius: 2px; vertical-align: -.1em }
)css";

constexpr const char* kPageLegend = R"html(<dl>
<dt>Box</dt><dd>a function; its width is the share of the CPU time spent in it and in what it
called. The order from left to right means nothing: it is alphabetical.</dd>
<dt>Below it</dt><dd>what called it. Wide boxes with nothing above them are where the time goes.</dd>
<dt><i style="background:hsl(30,82%,70%)"></i> warm</dt><dd>code of a program or a library; one
name, one colour. [name] in brackets: a file without symbols.</dd>
<dt><i style="background:hsl(165,45%,70%)"></i> green</dt><dd>code generated at run time.</dd>
<dt><i style="background:hsl(265,45%,70%)"></i> violet</dt><dd>the kernel.</dd>
<dt>Click</dt><dd>enlarges a box; Esc or &quot;Reset zoom&quot; goes back.</dd>
<dt>Ctrl-F</dt><dd>marks the names that hold a text, and adds up their share.</dd>
</dl>
)html";

}  // namespace

std::string flame_svg(std::span<const FoldedStack> stacks, const FlameOptions& options) {
  const FlameNode root = flame_tree(stacks);
  const Drawing drawing(root, options);
  const std::string detail =
      root.samples == 0 ? "no samples"
      : options.hz > 0  ? fmt::format("{} samples at {:.0f} Hz, {:.3g} s of CPU time", root.samples,
                                      options.hz, static_cast<double>(root.samples) / options.hz)
                        : fmt::format("{} samples", root.samples);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
             "width=\"100%\" "
             "style=\"max-width:{8:.0f}px\" data-left=\"{2}\" data-full=\"{3}\" "
             "data-character=\"{4}\" "
             "data-detail=\"{6}\">\n"
             "<style>{7}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fdfcf8\"/>\n"
             "<text class=\"title\" x=\"{2}\" y=\"22\">{5}</text>\n"
             "<text class=\"detail\" x=\"{2}\" y=\"41\">{6}</text>\n"
             "<text class=\"button reset hidden\" x=\"{9:.0f}\" y=\"22\">Reset zoom</text>\n"
             "<text class=\"button search\" x=\"{10:.0f}\" y=\"22\">Search</text>\n"
             "<text class=\"detail matched\" x=\"{10:.0f}\" y=\"41\" "
             "text-anchor=\"middle\"></text>\n",
             kWidth, drawing.height(), kMargin, kWidth - 2 * kMargin, kCharacter,
             xml_text(shortened(options.title, kWidth - 260)), xml_text(detail), kStyle,
             kWidth * 1.5, kWidth - 180, kWidth - 70) +
         drawing.boxes() + "<script><![CDATA[" + kScript + "]]></script>\n</svg>\n";
}

std::string flame_html(std::span<const FoldedStack> stacks, const FlameOptions& options) {
  const std::string title = xml_text(options.title);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
             title, kPageStyle) +
         flame_svg(stacks, options) + kPageLegend + "</body>\n</html>\n";
}

std::string flame_for(const std::string& path, std::span<const FoldedStack> stacks,
                      const FlameOptions& options) {
  return path.ends_with(".html") ? flame_html(stacks, options) : flame_svg(stacks, options);
}

}  // namespace hwprof::report
