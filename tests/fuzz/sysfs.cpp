// Event sources under /sys: which there are, and where in an event's words each field lies.
#include <filesystem>
#include <fstream>

#include "counters/machine/pmu_device.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;
namespace fs = std::filesystem;

constexpr const char* kDevices[] = {"cpu", "cpu_atom", "armv8_pmuv3_0", "uncore_imc"};
constexpr const char* kFields[] = {"event", "umask", "edge", "long"};

// In memory, where there is such a folder; one a process.
const fs::path& folder() {
  static const fs::path made = [] {
    std::string path = fs::exists("/dev/shm") ? "/dev/shm/fuzz-sysfs-XXXXXX" : "/tmp/fuzz-XXXXXX";
    must(::mkdtemp(path.data()) != nullptr);
    static const std::string kept = path;
    std::atexit([] { fs::remove_all(kept); });
    for (const char* device : kDevices)
      for (const char* below : {"format", "events"})
        fs::create_directories(path + "/" + device + "/" + below);
    return fs::path(path);
  }();
  return made;
}

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::trunc) << text;
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  const std::string device = kDevices[feed.below(std::size(kDevices))];
  const fs::path at = folder() / device;
  write(at / "type", feed.text());
  write(at / "cpus", feed.text());
  for (const char* field : kFields) write(at / "format" / field, feed.text());
  write(at / "events" / "cycles", feed.text());
  for (const PmuDevice& one : read_core_pmus(folder())) must(is_core_pmu_name(one.name));
  const std::string fields(feed.rest());
  const auto event = encode_sysfs_event(folder(), device, fields);
  if (!event) {
    must(event.error().fault == Fault::kUsage && !event.error().what.empty());
    return;
  }
  cpu_names_event(folder(), device, event->config);
}
