// Images with a label each, as bytes: what IDX files hold and what the generated digits look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

}  // namespace hwprof
