#include "src/observe/calls/probe_group.h"

#include <fmt/format.h>

#include <algorithm>

namespace hwprof::observe {

Result<ProbeGroup> ProbeGroup::make() {
  TRY(auto probes, begin_probes());
  return ProbeGroup(std::move(probes));
}

Result<void> ProbeGroup::define(const RoutineFile& file, std::span<const ProbeSet::Probe> probes) {
  const auto events = probes_->define(file.file.get(), generation_, probes);
  if (!events) {
    Error error = events.error();
    error.what += fmt::format(" ({})", file.path);
    return tl::make_unexpected(std::move(error));
  }
  for (const EventFormat& event : *events) {
    const bool known = std::any_of(formats_.begin(), formats_.end(),
                                   [&](const EventFormat& one) { return one.type == event.type; });
    if (!known) formats_.push_back(event);
  }
  return {};
}

std::vector<std::string> ProbeGroup::remove() {
  formats_.clear();
  return probes_ == nullptr ? std::vector<std::string>() : probes_->remove();
}

}  // namespace hwprof::observe
