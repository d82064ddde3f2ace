// A folder that everybody may read and write, and that ends with the test.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace hwprof {

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "readers-XXXXXX";
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    ::chmod(path_.c_str(), 0777);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hwprof
