#include "src/observe/proc/memory_areas.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/base/text.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

// The first word, and what follows behind blanks.
std::pair<std::string_view, std::string_view> first_word(std::string_view line) {
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos) return {line, ""};
  return {line.substr(0, end), trim(line.substr(end))};
}

// "7f2c4000-7f2c8000 rw-p 00000000 00:00 0   [heap]": absent where it is no such line. Of files and
// of shared memory, with `start` and no bytes.
std::optional<MappedArea> parse_head(std::string_view line) {
  auto [range, rest] = first_word(line);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto start = parse_unsigned(range.substr(0, dash), 16),
             end = parse_unsigned(range.substr(dash + 1), 16);
  if (!start || !end || *end <= *start) return std::nullopt;
  MappedArea found{.start = *start, .area = {}};
  std::string_view words[4];  // rights, offset, device, inode
  for (std::string_view& word : words) std::tie(word, rest) = first_word(rest);
  if (words[3] == "0" && words[0].size() == 4 && words[0][3] == 'p') {
    found.area.bytes = *end - *start;
    found.area.name = rest;
  }
  return found;
}

// "Rss:      1024 kB"
std::optional<std::uint64_t> bytes_after(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  const auto kibibytes = parse_unsigned(first_word(trim(line.substr(key.size()))).first);
  if (!kibibytes || *kibibytes > ~std::uint64_t{0} / 1024) return std::nullopt;
  return 1024 * *kibibytes;
}

template <class Use>
void each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::vector<MappedArea> parse_smaps(std::string_view smaps, std::uint64_t at_least) {
  std::vector<MappedArea> areas;
  std::optional<MappedArea> open;
  const auto close = [&] {
    if (!open || open->area.resident_bytes < std::max<std::uint64_t>(at_least, 1)) return;
    open->area.huge_bytes = std::min(open->area.huge_bytes, open->area.resident_bytes);
    areas.push_back(*std::exchange(open, std::nullopt));
  };
  each_line(smaps, [&](std::string_view line) {
    if (auto head = parse_head(line)) {
      close();
      open.reset();
      if (head->area.bytes > 0) open = *std::move(head);
    } else if (open) {
      if (const auto bytes = bytes_after(line, "Rss:"))
        open->area.resident_bytes = std::min(*bytes, open->area.bytes);
      if (const auto bytes = bytes_after(line, "AnonHugePages:")) open->area.huge_bytes = *bytes;
    }
  });
  close();
  std::stable_sort(areas.begin(), areas.end(), [](const MappedArea& a, const MappedArea& b) {
    return a.area.resident_bytes > b.area.resident_bytes;
  });
  return areas;
}

std::map<unsigned, std::uint64_t> parse_numa_maps(std::string_view numa_maps,
                                                  const std::vector<MappedArea>& areas) {
  std::set<std::uint64_t> starts;
  for (const MappedArea& area : areas) starts.insert(area.start);
  std::map<unsigned, std::uint64_t> bytes;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;  // pages, and KiB of one
  constexpr unsigned kMostNodes = 1024;                     // Linux has no more
  each_line(numa_maps, [&](std::string_view line) {
    const std::vector<std::string_view> words = split(line, ' ');
    const auto start = parse_unsigned(words.front(), 16);
    if (!start || !starts.contains(*start)) return;
    std::uint64_t page_kib = 4;
    std::vector<std::pair<unsigned, std::uint64_t>> pages;
    for (const std::string_view word : words) {
      const std::size_t sign = word.find('=');
      if (sign == std::string_view::npos) continue;
      const auto value = parse_unsigned(word.substr(sign + 1));
      if (!value || *value > kMost) continue;
      if (word.starts_with("kernelpagesize_kB"))
        page_kib = std::min<std::uint64_t>(*value, 1 << 20);
      const auto node =
          word.front() == 'N' ? parse_unsigned(word.substr(1, sign - 1)) : std::nullopt;
      if (node && *node < kMostNodes) pages.emplace_back(static_cast<unsigned>(*node), *value);
    }
    for (const auto& [node, count] : pages) bytes[node] += 1024 * page_kib * count;
  });
  return bytes;
}

std::string chosen_setting(std::string_view text) {
  const std::size_t begin = text.find('['), end = text.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return std::string(text.substr(begin + 1, end - begin - 1));
}

std::optional<unsigned> running_cpu(std::string_view stat) {
  constexpr std::size_t kState = 0, kProcessor = 36;  // numbers 3 and 39 of proc_pid_stat(5)
  const std::vector<std::string_view> fields = stat_fields(stat);
  if (fields.size() <= kProcessor || fields[kState] != "R") return std::nullopt;
  const auto cpu = parse_unsigned(fields[kProcessor]);
  return cpu ? std::optional(static_cast<unsigned>(*cpu)) : std::nullopt;
}

std::vector<model::MemoryNode> memory_nodes(const std::map<unsigned, std::uint64_t>& bytes,
                                            const std::map<unsigned, std::uint64_t>& running) {
  std::uint64_t seen = 0;
  std::map<unsigned, model::MemoryNode> nodes;
  for (const auto& [node, count] : running) seen += count;
  for (const auto& [node, count] : bytes) nodes[node].bytes = count;
  for (const auto& [node, count] : running) nodes[node];  // those without memory, too
  std::vector<model::MemoryNode> all;
  for (auto& [number, node] : nodes) {
    node.node = number;
    const auto found = running.find(number);
    if (seen >= kEnoughRunning)
      node.run_share = found == running.end()
                           ? 0
                           : static_cast<double>(found->second) / static_cast<double>(seen);
    all.push_back(node);
  }
  return all;
}

}  // namespace hwprof::observe
