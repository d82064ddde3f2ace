// The list of hosts that `fleet merge` expects, and the names that a record may have.
#include <algorithm>
#include <cctype>

#include "src/commands/check/host_facts.h"
#include "src/commands/fleet/host_list.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;

constexpr std::size_t kMostHosts = 100'000, kMostLookedAt = 1000;
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

// Each host once, under a name that is one, and in all no more than fits.
void check(const Result<std::vector<ExpectedHost>>& hosts) {
  if (!hosts) {
    must(hosts.error().fault == Fault::kUsage && !hosts.error().what.empty());
    return;
  }
  must(!hosts->empty() && hosts->size() <= kMostHosts);
  std::size_t bytes = 0;
  for (const ExpectedHost& host : *hosts) bytes += host.name.size() + host.unavailable.size();
  must(bytes <= kMostBytes);
  // Of more the sanitizers would take seconds.
  if (hosts->size() > kMostLookedAt) return;
  std::vector<std::string> names;
  for (const ExpectedHost& host : *hosts) {
    must(host_in("host", host.name).has_value());
    std::string& name = names.emplace_back(host.name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  }
  std::sort(names.begin(), names.end());
  must(std::adjacent_find(names.begin(), names.end()) == names.end());
}

}  // namespace

void fuzz(std::string_view text) {
  const bool has_lines = text.find('\n') != std::string_view::npos;
  check(has_lines ? parse_host_lines("hosts.txt", text) : parse_host_ranges(text));
  if (const auto id = run_id_in("--run-id", text))
    must(is_plain(*id) && id->find_first_of("/ @") == std::string::npos);
}
