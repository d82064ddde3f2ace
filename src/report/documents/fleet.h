// What `hwprof fleet merge` says of many hosts.
#pragma once

#include "src/model/fleet_record.h"
#include "src/report/document.h"

namespace hwprof::report {

Document fleet_document(const Fleet& fleet);

}  // namespace hwprof::report
