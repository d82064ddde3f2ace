#include "src/observe/calls/probe_group.h"

#include <fmt/format.h>

#include <algorithm>

namespace hwprof::observe {

Result<ProbeGroup> ProbeGroup::make() {
  TRY(auto probes, begin_probes());
  return ProbeGroup(std::move(probes));
}

Result<void> ProbeGroup::define(EventKind kind, const RoutineFile& file, const EntryPoint& entry,
                                std::uint32_t id) {
  const auto format = probes_->define({.kind = kind,
                                       .generation = generation_,
                                       .file = file.file.get(),
                                       .symbol = entry.symbol,
                                       .offset = entry.offset,
                                       .id = id});
  if (!format) {
    Error error = format.error();
    error.what += fmt::format(" ({} of {})", entry.symbol, file.path);
    return tl::make_unexpected(std::move(error));
  }
  const bool known = std::any_of(formats_.begin(), formats_.end(),
                                 [&](const EventFormat& one) { return one.type == format->type; });
  if (!known) formats_.push_back(*format);
  return {};
}

std::vector<std::string> ProbeGroup::remove() {
  formats_.clear();
  return probes_ == nullptr ? std::vector<std::string>() : probes_->remove();
}

}  // namespace hwprof::observe
