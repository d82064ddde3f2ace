// Which library computed in a module, with which kernels and how near the peak: what the other
// levels of evidence say of the libraries that its calls went to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/model/modules_record.h"

namespace hwprof::blas {

// Pure. `cpus`: on which the program could run. `onednn`: the most that it computes with; "": not
// known.
void add_module_evidence(const report::BlasEvidence& evidence, std::size_t cpus,
                         const std::string& onednn, std::vector<report::Module>& modules);

}  // namespace hwprof::blas
