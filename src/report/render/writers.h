// Each writer turns a record into bytes; none computes, none touches a file.
#pragma once

#include <string>

#include "src/model/record.h"

namespace hwprof::report {

struct TextStyle {
  bool colour = false;
  int columns = 100;  // lines never exceed it, except for unbreakable paths
};

std::string profile_text(const Profile& profile, const TextStyle& style);
std::string profile_json(const Profile& profile);      // hwprof.profile/1
std::string profile_csv(const Profile& profile);       // one line a row
std::string profile_markdown(const Profile& profile);  // GitHub tables

}  // namespace hwprof::report
