// Digits for those who have no MNIST at hand: a set that an MLP can learn, but not by heart.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/workloads/inputs/image_set.h"

namespace hwprof {

// 28 x 28 pixels, ten classes in random order: a 5 x 7 glyph three times as large, at a random
// place, in a random brightness, with pixels of it missing and noise over all. The same on every
// platform for the same seed.
ImageSet generate_digits(std::size_t images, std::uint64_t seed);

}  // namespace hwprof
