// Flame graphs and folded stacks of whatever an observed program calls itself and its functions.
#include "src/report/flame/flame.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/base/text.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;
using namespace hwprof::report;

// Deeper than the kernel walks a stack unless root says so (perf_event_max_stack).
constexpr std::size_t kMostFrames = 256;

// A reader of XML that knows just what the writer may use, and refuses all else: tags that are
// closed in their order, attributes in double quotes, five entities, one block of CDATA.
class Markup {
 public:
  explicit Markup(std::string_view text) : rest_(text) {}

  bool is_well_formed() {
    while (!rest_.empty()) {
      if (take("<![CDATA[")) {
        if (!skip_behind("]]>")) return false;
      } else if (take("</")) {
        if (open_.empty() || !take(open_.back()) || !take(">")) return false;
        open_.pop_back();
      } else if (take("<")) {
        if (!tag()) return false;
      } else if (!text_until('<')) {
        return false;
      }
    }
    return open_.empty();
  }

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool skip_behind(std::string_view text) {
    const std::size_t at = rest_.find(text);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + text.size());
    return true;
  }
  std::string_view name() {
    const auto end = std::find_if(rest_.begin(), rest_.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-';
    });
    const std::string_view found(rest_.data(), static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(found.size());
    return found;
  }
  // What stands before `end`: lines of plain characters and entities.
  bool text_until(char end) {
    const std::string_view text = rest_.substr(0, rest_.find(end));
    rest_.remove_prefix(text.size());
    if (text.find_first_of("<>") != std::string_view::npos) return false;
    for (const std::string_view line : split(text, '\n')) {
      if (!is_plain(line)) return false;
    }
    for (std::size_t at = 0; (at = text.find('&', at)) != std::string_view::npos; ++at) {
      const std::string_view entity = text.substr(at, text.find(';', at) - at);
      if (entity != "&amp" && entity != "&lt" && entity != "&gt" && entity != "&quot" &&
          entity != "&#39")
        return false;
    }
    return true;
  }
  bool tag() {
    const std::string_view element = name();
    if (element.empty()) return false;
    while (take(" ")) {
      if (name().empty() || !take("=\"") || !text_until('"') || !take("\"")) return false;
    }
    if (take("/>")) return true;
    if (!take(">")) return false;
    // HTML: has no end.
    if (element != "meta") open_.push_back(element);
    return true;
  }

  std::string_view rest_;
  std::vector<std::string_view> open_;
};

std::vector<FoldedStack> stacks_of(Feed& feed) {
  std::vector<FoldedStack> stacks;
  while (!feed.empty()) {
    FoldedStack stack;
    stack.samples = feed.number<std::uint16_t>();
    const std::size_t frames = 1 + feed.below(8);
    for (std::size_t i = 0; i < frames; ++i) stack.frames.emplace_back(feed.text());
    // Recursion, as a stack that is deep has it.
    const std::string last = stack.frames.back();
    stack.frames.resize(std::min(frames + feed.below(256), kMostFrames), last);
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

void check_folded(const std::vector<FoldedStack>& stacks) {
  const std::string text = folded_text(stacks);
  const auto lines = split(text, '\n');
  must(lines.size() == stacks.size() + 1 && lines.back().empty());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    must(is_plain(lines[i]));
    const std::size_t blank = lines[i].rfind(' ');
    must(parse_unsigned(lines[i].substr(blank + 1)) == stacks[i].samples);
    const auto frames = split(lines[i].substr(0, blank), ';');
    must(frames.size() == stacks[i].frames.size());
    for (const std::string_view frame : frames) must(!frame.empty());
  }
}

void check_speedscope(const std::vector<FoldedStack>& stacks, const FlameOptions& options) {
  const auto file = nlohmann::json::parse(speedscope_json(stacks, options));
  const std::size_t frames = file.at("shared").at("frames").size();
  const auto& samples = file.at("profiles").at(0).at("samples");
  must(samples.size() == stacks.size());
  for (const auto& sample : samples) {
    for (const auto& frame : sample) must(frame.get<std::size_t>() < frames);
  }
}

// Every frame a place of its own.
void check_pprof(const std::vector<FoldedStack>& stacks, const FlameOptions& options) {
  PlacedStacks placed;
  placed.objects = {{"/a.so", "beef", 1U << 20U}};
  for (const FoldedStack& stack : stacks) {
    PlacedStacks::Stack added{stack.frames.front(), {}, stack.samples};
    for (const std::string& frame : stack.frames) {
      added.places.push_back(placed.places.size());
      placed.places.push_back({0, placed.places.size(), {{frame, frame, 1}}});
    }
    placed.stacks.push_back(std::move(added));
  }
  must(pprof_profile(placed, options).starts_with("\x1f\x8b"));
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  FlameOptions options;
  options.hz = feed.number<std::uint8_t>();
  options.title = feed.text();
  const auto stacks = stacks_of(feed);
  must(Markup(flame_svg(stacks, options)).is_well_formed());
  const std::string page = flame_html(stacks, options);
  constexpr std::string_view kDocumentType = "<!DOCTYPE html>\n";
  must(page.starts_with(kDocumentType));
  must(Markup(std::string_view(page).substr(kDocumentType.size())).is_well_formed());
  check_folded(stacks);
  check_speedscope(stacks, options);
  check_pprof(stacks, options);
}
