// The memory of another process, read while it runs: what is read may change meanwhile, and holds
// what that process put there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>

namespace hwprof::observe {

// Fills `to` from an address of the process; false: it cannot.
using ReadMemory = std::function<bool(std::uint64_t address, std::span<std::byte> to)>;

// A word at an offset of bytes that were read; absent beyond their end.
template <class T>
std::optional<T> word_at(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  __builtin_memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
std::optional<T> read_word(const ReadMemory& read, std::uint64_t address) {
  T value{};
  if (!read(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

}  // namespace hwprof::observe
