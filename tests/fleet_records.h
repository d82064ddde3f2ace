// Records of hosts as the tests of a fleet make them up.
#pragma once

#include <string>

#include "src/commands/fleet/merge.h"

namespace hwprof {

// One that cannot be read.
inline FoundRecord broken_record(const std::string& file) {
  FoundRecord record;
  record.file = file;
  record.problem = file + " ends in the middle";
  name_record(record);
  return record;
}

}  // namespace hwprof
