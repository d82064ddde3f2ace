// The command line: any words, a line each. A command that they make is not run.
#include "src/cli/options.h"

#include <string>
#include <vector>

#include "counters/events/event_table.h"
#include "src/base/text.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/run/fix.h"
#include "src/observe/calls/exact_wish.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;

// One sentence, and nothing that would be an environment's.
template <class T>
bool refused(const Result<T>& result) {
  if (result) return false;
  must(result.error().fault == Fault::kUsage && !result.error().what.empty());
  return true;
}

void check_values(std::string_view text) {
  for (const auto& list : {cli::parse_list("--o", text), cli::parse_events("--o", text)}) {
    if (refused(list)) continue;
    for (const std::string& item : *list) must(!item.empty());
  }
  if (const auto value = cli::parse_whole("--o", text, 3, 70); !refused(value))
    must(*value >= 3 && *value <= 70);
  if (const auto value = cli::parse_seconds("--o", text, 100); !refused(value))
    must(*value > 0 && *value <= 100);
  if (const auto value = cli::parse_share("--o", text); !refused(value))
    must(*value >= 0 && *value <= 1);
  refused(cli::cpu_list("--o", text));
  refused(parse_cpu_id(text));
  for (const auto& wish :
       {observe::parse_exact_wish("--o", text), observe::parse_exact_region("--o", text)})
    if (!refused(wish)) must(!wish->name.empty() && wish->first >= 1);
  if (const auto settings = parse_settings("--try", std::string(text)); !refused(settings)) {
    for (const auto& setting : *settings)
      for (const std::string& one : setting) must(one.find('=') > 0);
  }
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  if (feed.below(2) == 0) return check_values(feed.rest());
  std::vector<std::string> words;
  for (const std::string_view word : split(feed.rest(), '\n')) words.emplace_back(word);
  constexpr std::size_t kMostWords = 32;
  if (words.size() > kMostWords) return;
  for (std::string& word : words) word = word.c_str();  // as the kernel hands them over
  const auto made = cli::parse(commands(), words);
  if (made) {
    // Of what nothing begins with there is nothing to complete.
    must(made->run != nullptr || !made->text.empty() || words[0] == "--complete");
  } else {
    must(!made.error().what.empty());
  }
}
