#include "src/observe/calls/known_files.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostNames = 256;

}  // namespace

const KnownFile* KnownFiles::find(const Mapped& mapped, std::uint64_t time_ns) const {
  const auto found = files_.find(key_of(mapped));
  if (found == files_.end()) return nullptr;
  const KnownFile& file = found->second;
  return time_ns >= file.from_ns && time_ns <= file.until_ns ? &file : nullptr;
}

bool KnownFiles::is_to_be_read(const Mapped& mapped, std::uint64_t time_ns) {
  const auto found = files_.find(key_of(mapped));
  if (found == files_.end()) return true;
  KnownFile& file = found->second;
  if (time_ns <= file.until_ns) return false;
  const std::uint64_t now_ns = Clocks::now().monotonic_ns;
  const auto version = file.name.valid() ? version_of(file.name.get()) : version_at(mapped.path);
  if (!file.settled || version != file.version) return true;
  file.until_ns = now_ns;
  return false;
}

std::optional<KnownFile> KnownFiles::begin(const Mapped& mapped, const UniqueFd& file) {
  const Clocks now = Clocks::now();
  const auto version = version_of(file.get());
  if (!version) return std::nullopt;
  KnownFile found;
  found.from_ns = unchanged_since_ns(*version, now);
  found.until_ns = now.monotonic_ns;
  found.version = *version;
  found.settled = !may_change_unseen(*version, now);
  if (version->linked && names_ < kMostNames && version_at(mapped.path) != version)
    found.name = name_of(file.get());
  return found;
}

void KnownFiles::add(const Mapped& mapped, KnownFile file) {
  KnownFile& known = files_[key_of(mapped)];
  names_ += (file.name.valid() ? 1 : 0);
  names_ -= (known.name.valid() ? 1 : 0);
  known = std::move(file);
}

}  // namespace hwprof::observe
