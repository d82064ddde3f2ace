// E4: which library's loops the CPU time went to, how wide they compute and on how many threads.
#pragma once

#include "src/model/blas.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::blas {

// Pure but for looking into the files that the hot spots name, to say who made them.
report::Executed executed(const observe::SampleProfile& profile);

}  // namespace hwprof::blas
