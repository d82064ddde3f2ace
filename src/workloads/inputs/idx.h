// MNIST's files (IDX, yann.lecun.com/exdb/mnist): a big-endian magic number, 0x00000803 for images
// and 0x00000801 for labels, the sizes as 32-bit numbers, then a byte a value. Plain or gzip.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/workloads/inputs/image_set.h"

namespace hwprof {

// Fault::kUsage names the file and what was found in it: no IDX file, cut or longer than its header
// says, a gzip that ends early, nothing in it, more than the machine's memory, labels beyond 9, or
// as many labels as there are no images.
Result<ImageSet> read_idx(const std::string& images_path, const std::string& labels_path);

}  // namespace hwprof
