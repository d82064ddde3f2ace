// The workload of `hwprof profile`: documents, read or made up, laid out in one matrix.
#pragma once

#include "src/base/result.h"
#include "src/commands/profile_options.h"
#include "src/model/record.h"
#include "src/workloads/inputs/batch.h"
#include "src/workloads/inputs/documents.h"
#include "src/workloads/inputs/embedding.h"

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
