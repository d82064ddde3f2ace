// A temporary folder of this process, which goes with the object; and, where a process was killed
// and could not remove its own, with the next one that makes such a folder.
#pragma once

#include <filesystem>
#include <string_view>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

class PrivateFolder {
 public:
  // In the folder for temporary files, readable by nobody else. `purpose` is in its name.
  static Result<PrivateFolder> make(std::string_view purpose);
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  PrivateFolder() = default;

  std::filesystem::path path_;  // empty: moved away
  UniqueFd lock_;               // held while this process lives
};

}  // namespace hwprof
