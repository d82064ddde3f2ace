// A page around the drawing, for those who have not read a flame graph before.
#include <fmt/format.h>

#include "src/report/flame/flame.h"
#include "src/report/flame/flame_tree.h"

namespace hwprof::report {
namespace {

constexpr const char* kStyle = R"css(
body { margin: 2rem auto; max-width: 1800px; padding: 0 1.5rem; background: #fdfcf8;
       color: #1c1c1c; font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.25rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; max-width: 62rem }
dt { font-weight: 600 }
dd { margin: 0 }
i { display: inline-block; width: .9em; height: .9em; border-radius: 2px; vertical-align: -.1em }
)css";

constexpr const char* kLegend = R"html(<dl>
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

std::string flame_html(std::span<const FoldedStack> stacks, const FlameOptions& options) {
  const std::string title = xml_text(options.title);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
             title, kStyle) +
         flame_svg(stacks, options) + kLegend + "</body>\n</html>\n";
}

}  // namespace hwprof::report
