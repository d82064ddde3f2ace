#include "src/observe/samples/generated_code.h"

#include <unistd.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/base/untrusted_file.h"
#include "src/observe/proc/foreign_file.h"

namespace hwprof::observe {
namespace {

constexpr int kMaximumReads = 8;
// A window's worth of a generator that fills its memory with code and nothing else; a program that
// generates more than this much hot code is judged by its first.
constexpr std::uint64_t kMaximumBytes = 32U << 20U;
constexpr std::size_t kLongestInstruction = 16;
constexpr std::size_t kMaximumMapBytes = 64U << 20U, kMostFunctions = 500'000, kLongestName = 1024;

}  // namespace

bool LiveCode::is_blank_at(const Window& window, std::uint64_t address) const {
  if (address < window.address || address - window.address >= window.bytes.size()) return true;
  const auto from = window.bytes.begin() + static_cast<std::ptrdiff_t>(address - window.address);
  const auto left = static_cast<std::size_t>(window.bytes.end() - from);
  return std::all_of(from, from + static_cast<std::ptrdiff_t>(std::min(left, kLongestInstruction)),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

bool LiveCode::read(int pid, std::uint64_t address, std::uint64_t start, std::uint64_t end) {
  const std::uint64_t index = address / kWindowBytes;
  if (const auto known = windows_.find(index);
      known != windows_.end() &&
      (!is_blank_at(known->second, address) || known->second.reads >= kMaximumReads)) {
    return true;
  }
  if (!read_window(pid, index, start, end)) return false;
  for (const std::uint64_t beside : {index - 1, index + 1}) {
    const bool inside = (beside + 1) * kWindowBytes > start && beside * kWindowBytes < end;
    if (inside && !windows_.contains(beside)) read_window(pid, beside, start, end);
  }
  return true;
}

bool LiveCode::read_window(int pid, std::uint64_t index, std::uint64_t start, std::uint64_t end) {
  const std::uint64_t from = std::max(start, index * kWindowBytes);
  const std::uint64_t to = std::min(end, (index + 1) * kWindowBytes);
  Window& window = windows_[index];
  if (from >= to || bytes_ + (to - from) > kMaximumBytes) return !window.bytes.empty();
  std::vector<std::byte> bytes(to - from);
  const UniqueFd memory = open_foreign(
      {.kind = ForeignFile::Kind::kMemory, .pid = pid, .start = 0, .end = 0, .path = {}});
  const ssize_t got =
      memory.valid() ? ::pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(from))
                     : -1;
  ++window.reads;
  if (got <= 0) return !window.bytes.empty();
  bytes.resize(static_cast<std::size_t>(got));
  bytes_ += bytes.size() - window.bytes.size();
  window.address = from;
  window.bytes = std::move(bytes);
  return true;
}

CodeBytes LiveCode::around(std::uint64_t address) const {
  auto at = windows_.find(address / kWindowBytes);
  const auto holds = [](const Window& window, std::uint64_t where) {
    return where >= window.address && where - window.address < window.bytes.size();
  };
  if (at == windows_.end() || !holds(at->second, address)) return {};
  if (at != windows_.begin()) {
    const auto before = std::prev(at);
    if (before->second.address + before->second.bytes.size() == at->second.address) at = before;
  }
  CodeBytes code{at->second.address, {}};
  for (; at != windows_.end() && at->second.address == code.address + code.bytes.size() &&
         at->first <= address / kWindowBytes + 1;
       ++at) {
    code.bytes.insert(code.bytes.end(), at->second.bytes.begin(), at->second.bytes.end());
  }
  return code;
}

JitMap JitMap::parse(std::string_view text) {
  JitMap map;
  while (!text.empty() && map.functions_.size() < kMostFunctions) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto first = line.find(' ');
    const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos) continue;
    const auto start = parse_unsigned(line.substr(0, first), 16);
    const auto size = parse_unsigned(line.substr(first + 1, second - first - 1), 16);
    const std::string_view name = trim(line.substr(second + 1)).substr(0, kLongestName);
    // A later line names what was generated in the same place later.
    if (start && size && *size > 0 && !name.empty()) {
      map.functions_.insert_or_assign(*start, Function{*size, std::string(name)});
    }
  }
  return map;
}

Result<JitMap> JitMap::load(const std::string& path, unsigned observed_user) {
  TRY(const std::string text,
      read_untrusted(path, {.owner = observed_user, .most_bytes = kMaximumMapBytes}));
  return parse(text);
}

std::string JitMap::symbol(std::uint64_t address) const {
  auto found = functions_.upper_bound(address);
  if (found == functions_.begin()) return "";
  --found;
  return address - found->first < found->second.size ? found->second.name : "";
}

}  // namespace hwprof::observe
