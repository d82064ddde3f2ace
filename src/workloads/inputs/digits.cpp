#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/workloads/inputs/image_set.h"
#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

constexpr std::size_t kSide = 28, kScale = 3, kGlyphWidth = 5, kGlyphHeight = 7;

// A row a byte, the leftmost pixel in bit 4.
constexpr std::array<std::array<std::uint8_t, kGlyphHeight>, kClasses> kGlyphs = {{
    {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e},
    {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e},
    {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f},
    {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e},
    {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02},
    {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
    {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e},
    {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
    {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e},
    {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c},
}};

// Chosen so that the MLP of the workload gets nine in ten right after its ten epochs, and not all.
constexpr std::uint32_t kShift = 3;  // pixels to either side
constexpr std::uint32_t kFaintest = 110, kBrightest = 250;
constexpr std::uint32_t kMissingOf64 = 10;  // pixels of the glyph
constexpr float kNoise = 45;                // standard deviation, of 255

void draw(std::uint8_t digit, SplitMix64& random, std::uint8_t* image) {
  const std::size_t left =
      (kSide - kGlyphWidth * kScale) / 2 - kShift + random.below(2 * kShift + 1);
  const std::size_t top =
      (kSide - kGlyphHeight * kScale) / 2 - kShift + random.below(2 * kShift + 1);
  const std::uint32_t brightness = kFaintest + random.below(kBrightest - kFaintest + 1);
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) {
      float value = random.bell(kNoise);
      const bool inside = y >= top && y < top + kGlyphHeight * kScale && x >= left &&
                          x < left + kGlyphWidth * kScale;
      if (inside) {
        const std::uint8_t row = kGlyphs[digit][(y - top) / kScale];
        const bool ink = (row >> (kGlyphWidth - 1 - (x - left) / kScale) & 1) != 0;
        if (ink && random.below(64) >= kMissingOf64) value += static_cast<float>(brightness);
      }
      image[y * kSide + x] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
    }
  }
}

}  // namespace

ImageSet generate_digits(std::size_t images, std::uint64_t seed) {
  SplitMix64 random(seed);
  ImageSet set{.height = kSide,
               .width = kSide,
               .pixels = std::vector<std::uint8_t>(images * kSide * kSide),
               .labels = std::vector<std::uint8_t>(images),
               .source = fmt::format("generated digits, seed {}", seed)};
  for (std::size_t i = 0; i < images; ++i) {
    set.labels[i] = static_cast<std::uint8_t>(random.below(kClasses));
    draw(set.labels[i], random, set.pixels.data() + i * set.image_pixels());
  }
  return set;
}

}  // namespace hwprof
