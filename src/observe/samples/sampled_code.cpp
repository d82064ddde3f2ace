#include "src/observe/samples/sampled_code.h"

#include <array>
#include <cstddef>

#include "src/observe/samples/sampling.h"

namespace hwprof::observe {

const UnwindRow* SampledCode::row(std::uint64_t address) {
  const Mapping* mapping = spaces_.find(pid_, address);
  if (mapping == nullptr) return nullptr;
  const Images::Unwinding known = images_.unwinding(pid_, *mapping, address);
  return known.table != nullptr ? known.table->row(known.at) : nullptr;
}

bool SampledCode::follows_call(std::uint64_t address) {
  const Mapping* mapping = spaces_.find(pid_, address);
  if (mapping == nullptr) return false;
  const Images::Unwinding known = images_.unwinding(pid_, *mapping, address);
  if (known.table != nullptr) return known.table->follows_call(known.at);
  std::array<std::byte, kLongestCall> code{};
  return address - mapping->start >= code.size() && memory_.read(address - code.size(), code) &&
         ends_in_call(code);
}

bool SampledCode::is_entry(std::uint64_t address) {
  const Mapping* mapping = spaces_.find(pid_, address);
  if (mapping == nullptr) return false;
  const Images::Unwinding known = images_.unwinding(pid_, *mapping, address);
  return known.table != nullptr && known.table->is_entry(known.at);
}

bool SampledCode::is_generated(std::uint64_t address) {
  const Mapping* mapping = spaces_.find(pid_, address);
  return mapping != nullptr && images_.unwinding(pid_, *mapping, address).table == nullptr;
}

bool SampledCode::is_return_probe(std::uint64_t address) {
  const Mapping* mapping = spaces_.find(pid_, address);
  return mapping != nullptr && mapping->path == kProbeCode;
}

}  // namespace hwprof::observe
