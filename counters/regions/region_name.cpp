#include "counters/regions/region_name.h"

#include <cstring>

namespace hwprof {

RegionName::RegionName(const char* name) : text_(name) {
  parts_.resize(text_.size() / sizeof(Word) + 2);
  stand_like(name);
}

void RegionName::stand_like(const char* name) {
  misalignment_ = misalignment_of(name);
  const std::size_t bytes = text_.size() + 1;  // the end belongs to it
  const std::size_t words = (misalignment_ + bytes + sizeof(Word) - 1) / sizeof(Word);
  for (std::size_t i = 0; i < words; ++i) {
    unsigned char text[sizeof(Word)] = {}, mask[sizeof(Word)] = {};
    for (std::size_t at = 0; at < sizeof(Word); ++at) {
      const std::size_t character = i * sizeof(Word) + at - misalignment_;
      if (character >= bytes) continue;  // before the text, too: that wraps around
      text[at] = static_cast<unsigned char>(text_.c_str()[character]);
      mask[at] = 0xff;
    }
    std::memcpy(&parts_[i].text, text, sizeof(Word));
    std::memcpy(&parts_[i].mask, mask, sizeof(Word));
  }
  first_ = parts_.data();
  end_ = first_ + words;
}

}  // namespace hwprof
