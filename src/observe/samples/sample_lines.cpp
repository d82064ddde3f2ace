#include "src/observe/samples/sample_lines.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace hwprof::observe {
namespace {

bool is_named_file(const std::string& file) { return !file.starts_with('<'); }

// "<string>", "<stdin>", "<ipython-input-1-...>": what was typed, where the program began with it;
// a package makes code of that name, too.
bool is_typed(const std::string& file) {
  return file == "<string>" || file == "<stdin>" || file.starts_with("<ipython-");
}

// Between a caller and the routine of a BLAS that it calls.
bool is_stub(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1).starts_with("libhwprof-audit.");
}

}  // namespace

bool is_users(const report::SourceLine& line, const report::SourceLine& outermost) {
  if (!is_named_file(line.file)) return is_typed(line.file) && is_typed(outermost.file);
  return !is_of_python(line.file);
}

std::size_t user_frame(const std::vector<const report::SourceLine*>& stack) {
  auto found = std::find_if(stack.begin(), stack.end(), [&](const report::SourceLine* line) {
    return is_users(*line, *stack.back());
  });
  if (found == stack.end())
    found = std::find_if(stack.begin(), stack.end(),
                         [](const report::SourceLine* line) { return is_named_file(line->file); });
  return found != stack.end() ? static_cast<std::size_t>(found - stack.begin()) : 0;
}

bool is_users_source(const std::string& file) {
  for (const char* folder : {"/usr/include/", "/usr/local/include/", "/usr/lib/"})
    if (file.starts_with(folder)) return false;
  for (const char* part : {"/include/c++/", "/lib/gcc/", "/lib/clang/"})
    if (file.find(part) != std::string::npos) return false;
  return is_named_file(file);
}

const std::vector<std::uint32_t>& SampleLines::lines_of(CodePlace place) {
  const auto [known, added] = lines_.try_emplace(place);
  std::vector<std::uint32_t>& numbers = known->second;
  if (!added || !is_users_object(table_.images.path(place))) return numbers;
  for (report::SourceLine line : code_.of(place)) {
    if (!is_users_source(line.file)) continue;
    line.first_line = 0;  // which is not known of all: a line would have two rows
    const std::uint32_t number = numbers_.number(std::move(line));
    if (number != SourceLines::kNone) numbers.push_back(number);
  }
  return numbers;
}

LineStack SampleLines::of(const LineSite& site) {
  const auto known = known_.find(site);
  if (known != known_.end()) return known->second;
  return known_.emplace(site, found(site)).first->second;
}

LineStack SampleLines::found(const LineSite& site) {
  std::vector<CodePlace> places;
  if (site.native != LineSite::kNoStack) places = table_.stacks.stack(site.native).places;
  const CodePlace hit = places.empty() ? CodePlace() : places.front();
  if (site.in_call) {
    const auto stub = std::find_if(places.begin(), places.end(), [&](CodePlace place) {
      return is_stub(table_.images.path(place));
    });
    if (stub != places.end()) places.erase(places.begin(), std::next(stub));
  }
  const bool hit_counts = !places.empty() && places.front() == hit;

  const std::vector<StackedLine>& python = python_.lines_of(site.python);
  std::vector<const report::SourceLine*> functions;
  for (const StackedLine& one : python) functions.push_back(&python_.line(one.line));
  LineStack stack;
  for (const MergedFrame& frame : table_.merged(places, python)) {
    if (frame.python) {
      if (is_users(*functions[frame.index], *functions.back()))
        stack.lines.push_back(python[frame.index].line);
      continue;
    }
    const std::vector<std::uint32_t>& lines = lines_of(places[frame.index]);
    if (stack.lines.empty() && !lines.empty()) stack.own_code = hit_counts && frame.index == 0;
    stack.lines.insert(stack.lines.end(), lines.begin(), lines.end());
  }
  if (stack.lines.empty() && !python.empty())
    stack.lines.push_back(python[user_frame(functions)].line);
  return stack;
}

std::string SampleLines::unlined_object(const std::vector<CodePlace>& places) {
  const auto lined = std::find_if(places.begin(), places.end(),
                                  [&](CodePlace place) { return !lines_of(place).empty(); });
  // Outermost first, of what the innermost line called.
  for (auto place = lined; place != places.begin();) {
    const std::string& path = table_.images.path(*--place);
    if (is_users_object(path) && table_.images.object(*place) && !code_.has_lines(*place))
      return path;
  }
  return "";
}

std::map<std::string, double> SampleLines::unlined() {
  std::map<std::string, double> files;
  const StackTable& stacks = table_.stacks;
  for (std::uint32_t number = 0; number < stacks.size(); ++number) {
    const std::string object = unlined_object(stacks.stack(number).places);
    if (!object.empty()) files[object] += static_cast<double>(stacks.samples(number));
  }
  return files;
}

}  // namespace hwprof::observe
