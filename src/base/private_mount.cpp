#include "src/base/private_mount.h"

#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "src/base/text.h"

namespace hwprof {

UniqueFd private_mount(const char* file_system, std::string_view options) {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, file_system, FSOPEN_CLOEXEC)));
  if (!context.valid()) return {};
  const auto configure = [&](unsigned command, const char* key, const char* value) {
    return ::syscall(SYS_fsconfig, context.get(), command, key, value, 0) == 0;
  };
  for (const std::string_view option : split(options, ',')) {
    if (option.empty() || option == "rw") continue;
    const std::size_t equals = option.find('=');
    const std::string key(option.substr(0, equals));
    const bool is_set = equals == option.npos
                            ? configure(FSCONFIG_SET_FLAG, key.c_str(), nullptr)
                            : configure(FSCONFIG_SET_STRING, key.c_str(),
                                        std::string(option.substr(equals + 1)).c_str());
    if (!is_set) return {};
  }
  if (!configure(FSCONFIG_CMD_CREATE, nullptr, nullptr)) return {};
  constexpr unsigned kFlags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  return UniqueFd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, kFlags)));
}

}  // namespace hwprof
