// A file that lives as long as a test needs it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>

namespace hwprof {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content) : path_(::testing::TempDir() + "hwprof_XXXXXX") {
    const int fd = ::mkstemp(path_.data());
    EXPECT_GE(fd, 0) << path_;
    ::close(fd);
    std::ofstream(path_, std::ios::binary) << content;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hwprof
