// The workload of `hwprof profile`: documents, read or made up, laid out in one matrix.
#pragma once

#include "counters/result.h"
#include "src/commands/profile_options.h"
#include "src/report/record.h"
#include "src/workloads/batch.h"
#include "src/workloads/documents.h"
#include "src/workloads/embedding.h"

namespace hwprof {

struct Input {
  DocumentSet documents;
  BatchShape shape;
  Embedding embedding;
  Batch batch;
};

Result<Input> load_input(const ProfileOptions& options);

report::Workload describe(const Input& input, const ProfileOptions& options);

}  // namespace hwprof
