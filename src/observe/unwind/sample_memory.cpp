#include "src/observe/unwind/sample_memory.h"

#include <cstring>

namespace hwprof::observe {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::size_t kMostPages = 64;  // of one sample

}  // namespace

const SampleMemory::Page* SampleMemory::page(std::uint64_t address) {
  const std::uint64_t begin = address & ~(kPageBytes - 1);
  const auto known = pages_.find(begin);
  if (known != pages_.end()) return &known->second;
  if (pages_.size() >= kMostPages) return nullptr;
  Page bytes(kPageBytes);
  if (!living_.read(pid_, begin, bytes)) bytes.clear();
  return &pages_.emplace(begin, std::move(bytes)).first->second;
}

bool SampleMemory::word(std::uint64_t address, std::uint64_t& value) {
  if (address >= begin_ && copy_.size() >= sizeof value &&
      address - begin_ <= copy_.size() - sizeof value) {
    std::memcpy(&value, &copy_[address - begin_], sizeof value);
    return true;
  }
  const std::uint64_t within = address % kPageBytes;
  if (within > kPageBytes - sizeof value) return false;
  const Page* bytes = page(address);
  if (bytes == nullptr || bytes->empty()) return false;
  std::memcpy(&value, &(*bytes)[within], sizeof value);
  return true;
}

bool SampleMemory::read(std::uint64_t address, std::span<std::byte> to) {
  return living_.read(pid_, address, to);
}

}  // namespace hwprof::observe
