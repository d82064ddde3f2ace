// From records and a list of hosts to one word a host, and to what only many hosts together can
// tell. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/commands/fleet/host_list.h"
#include "src/model/fleet_record.h"

namespace hwprof {

// A file of the folder.
struct FoundRecord {
  std::string file;                    // its name
  std::string host, run_id;            // as its name has them, HOST@ID.json; empty: it has not
  std::optional<report::Check> check;  // absent: it is no record, `problem` says why
  std::string problem;
};

// "zeta" of "zeta.cluster".
std::string first_label(const std::string& host);

// "HOST@ID.json"; fills host and run_id.
void name_record(FoundRecord& record);

// The run whose records count: `wanted`, or where that is empty the only one that there is.
// Fault::kUsage where there are several or none.
Result<std::string> run_to_merge(const std::vector<FoundRecord>& records,
                                 const std::string& wanted);

// `now_s`: seconds since 1970, to tell wrong clocks. Names of hosts are compared without case, and
// where either has no domain, without that.
report::Fleet merge(const std::vector<ExpectedHost>& expected,
                    const std::vector<FoundRecord>& records, const std::string& run_id,
                    std::int64_t now_s);

}  // namespace hwprof
