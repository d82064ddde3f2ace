#include "src/observe/proc/address_space.h"

#include <utility>

#include "src/base/text.h"

namespace hwprof::observe {

void AddressSpaces::apply(const Mapped& mapped) {
  if (mapped.length == 0) return;
  Space& space = spaces_[mapped.pid];
  if (space.map.use_count() > 1) space.map = std::make_shared<Map>(*space.map);
  Map& map = *space.map;
  const std::uint64_t start = mapped.start, end = mapped.start + mapped.length;

  // What lies under it is cut: a part may remain on both sides.
  auto under = map.lower_bound(start);
  if (under != map.begin() && std::prev(under)->second.end > start) --under;
  while (under != map.end() && under->second.start < end) {
    Mapping old = std::move(under->second);
    under = map.erase(under);
    if (old.end > end) {
      Mapping right = old;
      right.offset += end - right.start;
      right.start = end;
      under = std::next(map.emplace(end, std::move(right)).first);
    }
    if (old.start < start) {
      old.end = start;
      map.emplace(old.start, std::move(old));
    }
  }
  map[start] = {start, end, mapped.offset, mapped.file, mapped.path, ++generation_};
}

void AddressSpaces::apply(const Forked& forked) {
  if (forked.pid == forked.parent_pid) {
    ++spaces_[forked.pid].threads;
    return;
  }
  Space child;
  if (const auto parent = spaces_.find(forked.parent_pid); parent != spaces_.end()) {
    child = parent->second;
    child.threads = 1;
  }
  spaces_[forked.pid] = std::move(child);
}

void AddressSpaces::apply(const Named& named) {
  Space& space = spaces_[named.pid];
  if (named.by_exec) space = Space{};  // new memory; every other thread is gone
  if (named.by_exec || named.pid == named.tid) space.name = named.name;
}

void AddressSpaces::apply(const Exited& exited) {
  const auto found = spaces_.find(exited.pid);
  // The last thread; the first one may have left long before.
  if (found != spaces_.end() && --found->second.threads <= 0) spaces_.erase(found);
}

const Mapping* AddressSpaces::find(int pid, std::uint64_t address) const {
  const auto space = spaces_.find(pid);
  if (space == spaces_.end()) return nullptr;
  const Map& map = *space->second.map;
  auto found = map.upper_bound(address);
  if (found == map.begin()) return nullptr;
  --found;
  return address < found->second.end ? &found->second : nullptr;
}

std::string AddressSpaces::name(int pid) const {
  const auto space = spaces_.find(pid);
  return space != spaces_.end() ? space->second.name : "";
}

// "7f00-7f10 r-xp 00001000 fd:01 1234   /usr/lib/x.so", the numbers hexadecimal but for the inode.
std::vector<Mapped> parse_maps(int pid, std::string_view maps) {
  constexpr std::size_t kPathColumn = 5;
  std::vector<Mapped> found;
  for (std::string_view line : split(maps, '\n')) {
    std::vector<std::string_view> columns;
    while (columns.size() < kPathColumn) {
      line = line.substr(std::min(line.find_first_not_of(' '), line.size()));
      const auto end = std::min(line.find(' '), line.size());
      if (end == 0) break;
      columns.push_back(line.substr(0, end));
      line.remove_prefix(end);
    }
    if (columns.size() < kPathColumn || columns[1].find('x') == std::string_view::npos) continue;
    const auto range = split(columns[0], '-'), device = split(columns[3], ':');
    if (range.size() != 2 || device.size() != 2) continue;
    const auto start = parse_unsigned(range[0], 16), end = parse_unsigned(range[1], 16);
    const auto offset = parse_unsigned(columns[2], 16), inode = parse_unsigned(columns[4]);
    const auto major = parse_unsigned(device[0], 16), minor = parse_unsigned(device[1], 16);
    if (!start || !end || !offset || !inode || !major || !minor || *end <= *start) continue;
    const std::string_view path = trim(line);
    found.push_back(
        {pid,
         *start,
         *end - *start,
         *offset,
         {static_cast<std::uint32_t>(*major), static_cast<std::uint32_t>(*minor), *inode},
         path.empty() ? "//anon" : std::string(path)});
  }
  return found;
}

}  // namespace hwprof::observe
