// Images with a label each, as bytes: what IDX files hold and what the generated digits look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

inline constexpr std::size_t kClasses = 10;

struct ImageSet {
  std::size_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [images, height, width]
  std::vector<std::uint8_t> labels;  // below kClasses
  std::string source;                // where they come from, for the report

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] std::size_t image_pixels() const { return height * width; }
  [[nodiscard]] std::span<const std::uint8_t> image(std::size_t i) const {
    return std::span(pixels).subspan(i * image_pixels(), image_pixels());
  }

  // Takes the last `count` images away and returns them.
  ImageSet split_off(std::size_t count) {
    const std::size_t rest = size() - count;
    const auto first_pixel = pixels.begin() + static_cast<std::ptrdiff_t>(rest * image_pixels());
    const auto first_label = labels.begin() + static_cast<std::ptrdiff_t>(rest);
    ImageSet last{height, width, {first_pixel, pixels.end()}, {first_label, labels.end()}, source};
    pixels.erase(first_pixel, pixels.end());
    labels.erase(first_label, labels.end());
    return last;
  }
};

// Digits for those who have no MNIST at hand: a set that an MLP can learn, but not by heart.
// 28 x 28 pixels, ten classes in random order: a 5 x 7 glyph three times as large, at a random
// place, in a random brightness, with pixels of it missing and noise over all. The same on every
// platform for the same seed.
ImageSet generate_digits(std::size_t images, std::uint64_t seed);

// MNIST's files (IDX, yann.lecun.com/exdb/mnist): a big-endian magic number, 0x00000803 for images
// and 0x00000801 for labels, the sizes as 32-bit numbers, then a byte a value. Plain or gzip.
// Fault::kUsage names the file and what was found in it: no IDX file, cut or longer than its header
// says, a gzip that ends early, nothing in it, more than the machine's memory, labels beyond 9, or
// as many labels as there are no images.
Result<ImageSet> read_idx(const std::string& images_path, const std::string& labels_path);

}  // namespace hwprof
