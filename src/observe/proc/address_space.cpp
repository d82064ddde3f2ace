#include "src/observe/proc/address_space.h"

#include <fmt/format.h>

#include <utility>

#include "src/base/text.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/proc/maps.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {

void AddressSpaces::apply(const Record& record) {
  std::visit(
      [&](const auto& body) {
        if constexpr (requires { this->apply(body); }) this->apply(body);
      },
      record.body);
}

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

std::vector<Record> records_of_running(int pid) {
  const std::string folder = fmt::format("/proc/{}/", pid);
  std::vector<Record> records;
  const std::string name(trim(read_text_file(folder + "comm").value_or("")));
  records.push_back({0, Named{pid, pid, true, name}});
  for (const int tid : threads_of(pid)) {
    if (tid != pid) records.push_back({0, Forked{pid, pid, tid}});
  }
  for (Mapped& mapped : mapped_code(pid, read_maps(pid).value_or(""))) {
    records.push_back({0, std::move(mapped)});
  }
  return records;
}

}  // namespace hwprof::observe
